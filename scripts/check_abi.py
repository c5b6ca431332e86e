#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the ABI of libgraphclient.so with the dump libclient/abi/libgraphclient.abi.

The dump holds the exported symbols, the types of exported functions, and the layout, the virtual
functions and the enumerators of every type that the public headers define. Types of the standard
library are opaque in it; templates of the public headers are not covered. It is written and compared
by libabigail (Debian's package abigail-tools). The debug information of builds has no types (-g1);
so this script compiles one file that includes all public headers and defines the functions that the
library exports, with empty bodies.

examples:
  scripts/check_abi.py                               compare the library of build/dev
  scripts/check_abi.py --library build/release/lib/libgraphclient.so
  scripts/check_abi.py --strict                      also fail on compatible additions
  scripts/check_abi.py --update                      write the dump of this library

The exit status is 0 if the ABI is unchanged or was only extended, 1 if it has changed (with
--strict, even if it was only extended) or the library exports what no public header declares, and 2
if it could not be compared.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import source_files

INCLUDE = os.path.join(source_files.ROOT, "libclient", "include")
EXPORTS = os.path.join(source_files.ROOT, "libclient", "exports.map")
DUMP = os.path.join(source_files.ROOT, "libclient", "abi", "libgraphclient.abi")
LIBRARY = os.path.join("build", "dev", "lib", "libgraphclient.so")
PROGRAMS = {"abidw": "abigail-tools", "abidiff": "abigail-tools", "g++": "g++",
            "c++filt": "binutils", "readelf": "binutils"}  # fmt: skip
REFERENCES = ("type-id", "naming-typedef-id", "def-of-decl-id", "method-class-id")
CONTAINERS = ("namespace-decl", "class-decl", "union-decl", "member-type")
DEFINED_TYPES = ("class-decl", "union-decl", "enum-decl")
CHANGED = """\
check_abi: the ABI has changed (above). If programs that were linked before the change still work,
as after a new enumerator at the end: run scripts/check_abi.py --update and commit the dump. If they
do not: avoid the change, or raise SOVERSION in libclient/CMakeLists.txt and update the dump. Before
version 1.0 SOVERSION may stay 0: update the dump and name the break in CHANGELOG.md. CONTRIBUTING.md
has the details."""
EXTENDED = """\
check_abi: the ABI was extended (above), which is compatible: run scripts/check_abi.py --update and
commit the dump."""

UNDECLARED = """\
check_abi: the library exports what no public header declares, so that no program can use it:
  {names}
Hide it: write its class as `struct [[gnu::visibility("hidden")]] NAME {{` where it is defined."""


class CannotCompare(Exception):
    """A reason why the ABI cannot be compared, and its remedy."""


def run(*command, accept=(0,), **options):
    """Runs a command and returns its result; raises CannotCompare with its errors if it fails."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", **options)
    if done.returncode not in accept:
        raise CannotCompare(f"{command[0]} failed:\n{done.stderr.strip()}")
    return done


class Library:
    """The exported symbols of a shared library, and its soname."""

    def __init__(self, path):
        dynamic = run("readelf", "-W", "--dynamic", path).stdout
        soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
        if not soname:
            raise CannotCompare(f"{path} has no soname")
        self.soname = soname[1]
        self.symbols = {}  # {name: (version, FUNC or OBJECT, GLOBAL or WEAK, size)}
        for line in run("readelf", "-W", "--dyn-syms", path).stdout.splitlines():
            # Number, value, size, type, binding, visibility, section and name@@version. Inline
            # variables (UNIQUE) belong to the programs that use them, and the compiler may drop
            # those of the library.
            match = re.fullmatch(
                r" *\d+: \w+ +(\w+) (FUNC|OBJECT) +(GLOBAL|WEAK) +DEFAULT +(?!UND|ABS)\w+ "
                r"(_Z[^@\s]+)@@(\S+)",
                line.rstrip(),
            )
            if match:
                size, kind, binding, name, version = match.groups()
                self.symbols[name] = (version, kind, binding, size)
        if not self.symbols:
            raise CannotCompare(f"{path} exports nothing")


class Signature:
    """The parts of a demangled function, as graphd::DistGraph::num_nodes(int) const."""

    def __init__(self, demangled):
        text, self.qualifiers = re.fullmatch(
            r"(.*\))([^)]*)", re.sub(r"\[abi:\w+\]", "", demangled)
        ).groups()
        depth, begin = 1, len(text) - 1  # of the parenthesis that opens the parameters
        while depth > 0:
            begin -= 1
            depth += {")": 1, "(": -1}.get(text[begin], 0)
        self.name, self.parameters = text[:begin], text[begin + 1 : -1]
        self.scope, _, self.last = self.name.rpartition("::")

    def is_definable(self):
        """Returns whether definition() works. It does not for constructors and destructors, which
        return nothing, nor for conversions and instances of templates."""
        special = self.last.startswith("~") or self.last == self.scope.rpartition("::")[2]
        return not special and "operator " not in self.name and "<" not in self.name

    def values(self):
        """Returns expressions with the types of the parameters."""
        found, depth = [""], 0
        for letter in self.parameters:
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                found.append("")
            else:
                found[-1] += letter
        return ", ".join(f"std::declval<{type_.strip()}>()" for type_ in found if type_)

    def definition(self, is_member):
        """Returns a definition whose result has the type that the headers declare."""
        call = f"{self.name}({self.values()})"
        if is_member:
            reference = "" if self.qualifiers.endswith("&") else "&"
            object_ = f"std::declval<{self.scope}{self.qualifiers}{reference}>()"
            call = f"{object_}.{self.last}({self.values()})"
        declared = f"{self.name}({self.parameters}){self.qualifiers}"
        return f"decltype({call}) {declared} {{ __builtin_trap(); }}\n"


def scope_of_object(demangled):
    """Returns the class of a virtual table or of information about a type, and the class or
    namespace of a variable."""
    _, separator, of_class = demangled.rpartition(" for ")
    return of_class if separator else demangled.rpartition("::")[0]


def read_headers():
    """Returns the names of the public headers, and of the namespaces that they open."""
    folder = os.path.join(INCLUDE, "graphd")
    headers, namespaces = sorted(os.listdir(folder)), set()
    for header in headers:
        with open(os.path.join(folder, header), encoding="utf-8") as file:
            opened = re.findall(r"^namespace (?:\w+ )?([\w:]+) \{", file.read(), re.MULTILINE)
        namespaces.update(name.rpartition("::")[2] for name in opened)
    return headers, namespaces


def compile_headers(library, folder):
    """Compiles the public headers, and definitions of the functions that they declare and the
    library exports, to folder/types.so. Returns the names of what the library exports without a
    declaration in a public header.

    These are members of classes that public headers only name: the namespace in which a class is
    named first gives it its visibility. A function of a namespace that no header declares does not
    compile, and is an error. Of instances of templates this script knows nothing.
    """
    source, listing = os.path.join(folder, "types.cc"), os.path.join(folder, "classes")
    # The headers are system headers, so that a definition may lack `noexcept`.
    flags = ["-std=c++20", "-w", "-O0", "-g", "-fPIC", "-fno-access-control",
             "-fno-eliminate-unused-debug-types", "-femit-class-debug-always",
             "-fvisibility-inlines-hidden", "-isystem", INCLUDE]  # fmt: skip
    headers, namespaces = read_headers()
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(f'#include "graphd/{header}"\n' for header in headers)
    run("g++", *flags, "-fsyntax-only", f"-fdump-lang-class={listing}", source)
    with open(listing, encoding="utf-8") as file:
        classes = set(re.findall(r"^Class (graphd::\S+)$", file.read(), re.MULTILINE))

    names = sorted(library.symbols)
    demangled = run("c++filt", input="\n".join(names)).stdout.splitlines()
    undeclared, definitions = [], set()
    for name, text in zip(names, demangled):
        is_function = library.symbols[name][1] == "FUNC"
        signature = Signature(text) if is_function else None
        scope = signature.scope if is_function else scope_of_object(text)
        is_member = scope in classes
        if not is_member and scope.rpartition("::")[2] not in namespaces:
            if "<" not in scope:
                undeclared.append(text)
        elif is_function and signature.is_definable():
            definitions.add(signature.definition(is_member))
    with open(source, "a", encoding="utf-8") as file:
        file.writelines(sorted(definitions))
    try:
        run("g++", *flags, "-shared", f"-Wl,--version-script={EXPORTS}",
            f"-Wl,-soname,{library.soname}", "-o", os.path.join(folder, "types.so"), source)  # fmt: skip
    except CannotCompare as error:
        raise CannotCompare(
            f"{error}\ncheck_abi: the public headers do not fit the library. Either it is older: run "
            "ninja -C build/dev graphclient; or it exports a function that no public header declares"
        ) from None
    return undeclared


def types_named(node):
    """Yields the ids of the types that a node names, without those that nested types name."""
    for attribute in REFERENCES:
        if attribute in node.attrib:
            yield node.get(attribute)
    for child in node:
        if child.tag not in CONTAINERS:
            yield from types_named(child)


def sweep(node, needed):
    """Removes types whose ids are not needed, and scopes that are empty then."""
    for child in list(node):
        if child.tag in CONTAINERS:
            sweep(child, needed)
            if len(child) > 0:
                continue
        if child.get("id") not in needed:
            node.remove(child)


def reduce(unit):
    """Keeps only the types of namespace graphd and the types that they name. Classes outside of the
    namespace, which are the standard library's, become opaque."""
    ours = [node for node in unit if node.get("name") == "graphd"]
    others = [inner for node in unit if node not in ours for inner in node.iter()]
    for node in others:
        if node.tag in ("class-decl", "union-decl"):
            node[:] = [child for child in node if child.tag == "member-type"]
            node.attrib.pop("size-in-bits", None)
            node.set("is-declaration-only", "yes")
    by_id = {node.get("id"): node for node in others}
    needed = set()
    found = {node.get(name) for top in ours for node in top.iter() for name in REFERENCES} - {None}
    while found:
        needed |= found
        found = {name for id in found & by_id.keys() for name in types_named(by_id[id])} - needed
    for node in ours:
        unit.remove(node)
    sweep(unit, needed)
    unit.extend(ours)
    # This mark makes abidiff compare all types, not only those that a function uses directly.
    for node in (node for top in ours for node in top.iter()):
        if node.tag in DEFINED_TYPES and node.get("is-declaration-only") != "yes":
            node.set("is-non-reachable", "yes")


def symbol_node(name, symbol):
    version, kind, binding, size = symbol
    of_kind = {"type": "func-type"} if kind == "FUNC" else {"size": size, "type": "object-type"}
    return ElementTree.Element(
        "elf-symbol",
        {"name": name, "version": version, "is-default-version": "yes", **of_kind,
         "binding": f"{binding.lower()}-binding", "visibility": "default-visibility",
         "is-defined": "yes"},
    )  # fmt: skip


def write_dump(library, path, folder):
    """Writes the dump of a library to a path. It has all exported symbols, whether a public header
    declares them or not. Returns the names of the others (see compile_headers)."""
    undeclared = compile_headers(library, folder)
    written = os.path.join(folder, "types.abi")
    run("abidw", "--load-all-types", "--type-id-style", "hash", "--no-corpus-path",
        "--no-comp-dir-path", "--no-show-locs", "--no-architecture", "--no-elf-needed",
        "--no-parameter-names", "--out-file", written, os.path.join(folder, "types.so"))  # fmt: skip
    corpus = ElementTree.parse(written).getroot()
    for tag, kind in (("elf-function-symbols", "FUNC"), ("elf-variable-symbols", "OBJECT")):
        corpus.find(tag)[:] = [
            symbol_node(name, symbol)
            for name, symbol in sorted(library.symbols.items())
            if symbol[1] == kind
        ]
    unit = corpus.find("abi-instr")
    unit.set("path", "public headers")
    reduce(unit)
    ElementTree.indent(corpus, " ")
    with open(path, "w", encoding="utf-8") as file:
        file.write(ElementTree.tostring(corpus, encoding="unicode") + "\n")
    return undeclared


def compare(kept, now):
    """Returns "same", "extended" or "changed", and what abidiff says about it."""
    # Bit 2 of the status: a change; bit 3: an incompatible one; lower bits: an error.
    done = run("abidiff", "--non-reachable-types", "--harmless", "--leaf-changes-only", kept, now,
               accept=(0, 4, 8, 12))  # fmt: skip
    if done.returncode == 0:
        return "same", ""
    counts = re.findall(r"(\d+) (removed|changed|added)", done.stdout, re.IGNORECASE)
    kinds = {kind.lower() for count, kind in counts if int(count)}
    # All types are marked as unreachable (see reduce), so that these words mean nothing.
    said = done.stdout.replace("Unreachable types", "Types")
    said = said.replace(" unreachable from any public interface", "")
    return "extended" if kinds == {"added"} else "changed", said.strip()


def check(arguments):
    """Compares or updates; returns the exit status."""
    missing = {PROGRAMS[program] for program in PROGRAMS if not shutil.which(program)}
    if missing:
        raise CannotCompare(f"missing packages: {', '.join(sorted(missing))}; run scripts/setup")
    if not os.path.isfile(arguments.shared_object):
        raise CannotCompare(
            f"there is no {arguments.shared_object}; build it (cmake --preset dev; "
            "ninja -C build/dev graphclient), or name it with --library"
        )
    if not arguments.update and not os.path.isfile(DUMP):
        raise CannotCompare(f"there is no {DUMP}; restore it, or write it with --update")
    with tempfile.TemporaryDirectory() as folder:
        now = os.path.join(folder, "now.abi")
        undeclared = write_dump(Library(arguments.shared_object), now, folder)
        if undeclared:
            print(UNDECLARED.format(names="\n  ".join(undeclared)))
            return 1
        if arguments.update:
            os.makedirs(os.path.dirname(DUMP), exist_ok=True)
            shutil.copyfile(now, DUMP)
            print(f"check_abi: wrote {os.path.relpath(DUMP)}")
            return 0
        result, said = compare(DUMP, now)
        print(said or "check_abi: the ABI is unchanged")
    if result == "changed":
        print(CHANGED)
        return 1
    if result == "extended":
        print(EXTENDED)
        return 1 if arguments.strict else 0
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", dest="shared_object", metavar="FILE",
                        help=f"default: {LIBRARY} of the checkout",
                        default=os.path.join(source_files.ROOT, LIBRARY))  # fmt: skip
    parser.add_argument("--strict", action="store_true",
                        help="exit with 1 on compatible additions, too")  # fmt: skip
    parser.add_argument("--update", action="store_true",
                        help="write the dump of the library")  # fmt: skip
    try:
        return check(parser.parse_args())
    except CannotCompare as error:
        print(f"check_abi: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
