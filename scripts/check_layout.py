#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how sources are laid out in folders and files.

usage: scripts/check_layout.py [--graph]

- A folder of libclient, daemon, ctl, tests, python or bench has at most 40 source files; the
  median of their lines is below 200, and none has more than 800.
- No two files of a library (a folder of libclient, daemon, or ctl) have the same name.
- The methods of a class that a header declares are defined in the source file of the same name.
- Folders do not include each other's headers in a cycle.
- A folder of libclient, daemon or ctl includes only headers of folders that its CMakeLists.txt
  declares, or that these declare as PUBLIC; and the list of dependencies in ARCHITECTURE.md agrees
  with what is declared.

--graph prints which folder includes which. The exit status is 1 if anything is found.
"""

import argparse
import collections
import os
import re
import statistics
import sys

import source_files

ARCHITECTURE = "ARCHITECTURE.md"
FOLDERS = ("libclient", "daemon", "ctl", "tests", "python", "bench")
SOURCES = (".cc", ".h", ".py", ".pyi", ".capnp")
MODULES = ("libclient/", "daemon/", "ctl/")
# The headers of schemas are made in folders of their own; the folders of the schemas count.
INCLUDE_ROOTS = ("libclient", "libclient/include", "", "daemon")
PUBLIC_HEADERS = "libclient/include/graphd"
MOST_FILES = 40
MEDIAN_LINES = 200
MOST_LINES = 800
# Names that many folders of a library may have.
COMMON_NAMES = frozenset(["CMakeLists.txt"])
# "path of the source file: class" where a class is defined in a file of another name.
DEFINED_ELSEWHERE = frozenset([])


def plural(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")


def line_counts(files):
    """Returns the number of lines of each source file in FOLDERS."""
    return {
        path: text.count("\n")
        for path, text in files.items()
        if path.endswith(SOURCES) and path.startswith(tuple(folder + "/" for folder in FOLDERS))
    }


def check_sizes(lines):
    """Checks the number of files of each folder, and the lines of each file."""
    counts = collections.Counter(os.path.dirname(path) for path in lines)
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} source files, at most {MOST_FILES} are allowed"
    if lines and statistics.median(lines.values()) >= MEDIAN_LINES:
        yield f"the median of the lines of source files is not below {MEDIAN_LINES}"
    for path, count in sorted(lines.items()):
        if count > MOST_LINES:
            yield f"{path}: {count} lines, at most {MOST_LINES} are allowed"


def library_of(path):
    """Returns the folder of the library that a file is part of, or None."""
    match = re.match(r"libclient/[^/]+(?=/)|(daemon|ctl)(?=/)", path)
    return match.group() if match else None


def check_names(files):
    """Checks that no two files of a library have the same name."""
    places = collections.defaultdict(list)
    for path in files:
        name = os.path.basename(path)
        if library_of(path) and name not in COMMON_NAMES:
            places[library_of(path), name].append(path)
    for (library, _), paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{library}: files of the same name: {', '.join(paths)}"


def without_comments(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


# A class at the left margin with its body: not a forward declaration, not a nested class.
CLASS = re.compile(
    r"^(?:template <[^{};]*>\s*)?(?:class|struct)\s+(?:\[\[\w+\]\]\s*|alignas\([^)]*\)\s*)?"
    r"(\w+)(?:\s+final)?\s*(?::[^:;{][^;{]*)?\{",
    re.MULTILINE,
)
# "Type Class::Method(" at the left margin; the part before the method's name is without "=", which
# excludes the initialisers of variables.
METHOD = re.compile(
    r"^(?!return\b|using\b|namespace\b)(?:[^\s=(#}{][^=(;{}]*?[\s&*])??"
    r"((?:\w+(?:<[^()<>]*>)?::)+)(~?\w+|operator[^\w\s]+|operator\(\))\(",
    re.MULTILINE,
)


def classes_of(text):
    return set(CLASS.findall(without_comments(text)))


def defined_classes(text):
    """Returns the top-level classes whose methods a source file defines."""
    found = set()
    for qualifier, _ in METHOD.findall(without_comments(text)):
        names = [re.sub(r"<.*", "", name) for name in qualifier.split("::")[:-1]]
        while names and names[0][0].islower():
            names.pop(0)  # a namespace
        if len(names) == 1:  # those of nested classes may be anywhere
            found.add(names[0])
    return found


def check_definitions(files):
    """Checks that a class is declared and defined in files of the same name."""
    headers = collections.defaultdict(set)
    for path, text in files.items():
        if path.endswith(".h"):
            for name in classes_of(text):
                headers[name].add(path)
    for path, text in sorted(files.items()):
        if not path.endswith(".cc"):
            continue
        stem = os.path.basename(path)[: -len(".cc")]
        for name in sorted(defined_classes(text) - classes_of(text)):
            declared = sorted(headers.get(name, ()))
            stems = {os.path.basename(header)[: -len(".h")] for header in declared}
            if declared and stem not in stems and f"{path}: {name}" not in DEFINED_ELSEWHERE:
                yield f"{path}: defines methods of {name}, which {', '.join(declared)} declares"


def include_graph(files):
    """Returns {folder: {folder that it includes: one of the #include lines}}."""
    graph = collections.defaultdict(dict)
    for path, text in files.items():
        if not path.endswith((".cc", ".h")):
            continue
        folder = os.path.dirname(path)
        for header in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
            for root in (folder, *INCLUDE_ROOTS):
                target = os.path.normpath(os.path.join(root, header)).removesuffix(".capnp.h")
                target += ".capnp" if header.endswith(".capnp.h") else ""
                if target in files:
                    if os.path.dirname(target) != folder:
                        graph[folder].setdefault(os.path.dirname(target), f'{path}: "{header}"')
                    break
    return graph


def shortest_path(graph, start, end):
    """Returns the folders from start to end, both included, or None."""
    before, queue = {start: None}, collections.deque([start])
    while queue:
        folder = queue.popleft()
        if folder == end:
            path = []
            while folder is not None:
                path.append(folder)
                folder = before[folder]
            return path[::-1]
        for target in graph.get(folder, ()):
            if target not in before:
                before[target] = folder
                queue.append(target)
    return None


def check_cycles(graph):
    """Reports the shortest cycle through each include of one folder by another."""
    seen = set()
    for folder in sorted(graph):
        for target in sorted(graph[folder]):
            back = shortest_path(graph, target, folder)
            if not back or frozenset(back) in seen:
                continue
            seen.add(frozenset(back))
            cycle = [folder, *back]
            includes = [graph[a][b] for a, b in zip(cycle, cycle[1:])]
            yield f"cycle of includes {' -> '.join(cycle)}: {'; '.join(includes)}"


LIBRARY = re.compile(r"\b(?:graphd|graphd_daemon|graphctl)_library\((\w[^)]*)\)")
PROGRAM = re.compile(r"\badd_executable\((\w+)")
LINKED = re.compile(r"\btarget_link_libraries\((\w[^)]*)\)")


def declared_dependencies(files):
    """Returns {folder: {folder that its CMakeLists.txt declares: "PUBLIC" or "PRIVATE"}}."""
    folders, links = {}, []
    for path, text in files.items():
        if os.path.basename(path) != "CMakeLists.txt" or not path.startswith(MODULES):
            continue
        text = re.sub(r"#[^\n]*", "", text)
        libraries = [arguments.split() for arguments in LIBRARY.findall(text)]
        targets = [library[0] for library in libraries] + PROGRAM.findall(text)
        folders |= dict.fromkeys(targets, os.path.dirname(path))
        links += libraries + [arguments.split() for arguments in LINKED.findall(text)]
    declared = {folder: {} for folder in folders.values()}
    for target, *words in links:
        scope = None
        for word in words:
            if word in ("PUBLIC", "PRIVATE", "INTERFACE", "SOURCES"):
                scope = word
            elif target in folders and word in folders and scope != "SOURCES":
                of_folder = declared[folders[target]]
                if of_folder.get(folders[word]) != "PUBLIC":
                    of_folder[folders[word]] = scope
    return declared


def reachable(graph, folder):
    """Returns the folders to which a path leads from one, which is not among them."""
    found, queue = set(), [folder]
    while queue:
        for target in graph.get(queue.pop(), ()):
            if target not in found:
                found.add(target)
                queue.append(target)
    return found - {folder}


def check_declared(declared, graph):
    """Checks that folders include only headers of folders that they declare."""
    public = {
        folder: [target for target, scope in targets.items() if scope != "PRIVATE"]
        for folder, targets in declared.items()
    }
    for folder, targets in sorted(graph.items()):
        if folder not in declared:
            if folder.startswith(MODULES) and folder != PUBLIC_HEADERS:
                yield f"{folder}: no CMakeLists.txt makes a target of it, which could declare includes"
            continue
        allowed = set(declared[folder])
        for target in declared[folder]:
            allowed |= reachable(public, target)
        for target, include in sorted(targets.items()):
            if target != PUBLIC_HEADERS and target not in allowed:
                yield f"{folder}/CMakeLists.txt does not declare {target}: {include}"


def listed_dependencies(text, folders):
    """Returns {folder: folders} of the arrows in ARCHITECTURE.md, and the names without a folder.

    The list is an indented block of lines that begin with an area, "libclient:", or go on with the
    one before. Chains such as "a <- b, c <- d" are separated by semicolons.
    """
    block = re.search(r"^    libclient:.*\n(?:    .*\n)*", text, re.MULTILINE)
    listed, unknown = collections.defaultdict(set), set()
    area = ""

    def folder_of(name):
        places = [area] if name == os.path.basename(area) else [f"{area}/{name}", f"libclient/{name}"]
        found = next((place for place in places if place in folders), None)
        if found is None:
            unknown.add(name)
        return found

    for line in re.sub(r"\n {5,}", " ", block.group() if block else "").splitlines():
        name, _, chains = line.partition(":")
        places = (f"libclient/{name.strip()}", name.strip())
        area = next((place for place in places if place in folders), "libclient")
        for chain in chains.split(";"):
            links = [[folder_of(name.strip()) for name in link.split(",")] for link in chain.split("<-")]
            for before, after in zip(links, links[1:]):
                for folder in after:
                    listed[folder].update(before)
    return listed, unknown


def check_listed(declared, text):
    """Checks that the arrows of ARCHITECTURE.md are those that folders declare."""
    listed, unknown = listed_dependencies(text, declared)
    for name in sorted(unknown):
        yield f"{ARCHITECTURE}: the list of dependencies has '{name}', which no CMakeLists.txt defines"
    for here, there, message in (
        (declared, listed, "does not list that {} depends on {}"),
        (listed, declared, "lists that {} depends on {}, which no CMakeLists.txt declares"),
    ):
        for folder in sorted(set(here) - {None}):
            for target in sorted(set(here[folder]) - {None} - reachable(there, folder)):
                yield f"{ARCHITECTURE} {message.format(folder, target)}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", action="store_true", help="print which folder includes which")
    arguments = parser.parse_args()
    files = {
        path: source_files.read(path) if path.endswith((*SOURCES, "CMakeLists.txt")) else ""
        for path in source_files.tracked()
    }
    graph = include_graph(files)
    declared = declared_dependencies(files)
    if arguments.graph:
        for folder, targets in sorted(graph.items()):
            print(f"{folder}: {' '.join(sorted(targets))}")
    lines = line_counts(files)
    if lines:
        print(
            f"check_layout: {plural(len(lines), 'source file')}, median "
            f"{statistics.median(lines.values()):.0f} lines, longest {max(lines.values())} lines"
        )
    checks = {
        "size": check_sizes(lines),
        "name": check_names(files),
        "definition": check_definitions(files),
        "cycle": check_cycles(graph),
        "declaration": check_declared(declared, graph),
        "list": check_listed(declared, source_files.read(ARCHITECTURE)),
    }
    totals = {}
    for check, found in checks.items():
        messages = list(found)
        totals[check] = len(messages)
        for message in messages:
            print(message)
    print(
        "check_layout:",
        ", ".join(f"{check}: {plural(n, 'problem')}" for check, n in totals.items()),
    )
    return 1 if any(totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
