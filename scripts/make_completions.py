#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes packaging/completions from what the programs print for --help.

usage: scripts/make_completions.py [--check] BIN_DIR

BIN_DIR has graphd and graphctl, for example build/dev/bin. With --check, nothing is written, and the
exit status is 1 if a file differs.
"""

import argparse
import collections
import os
import re
import subprocess
import sys

import source_files

FOLDER = os.path.join(source_files.ROOT, "packaging", "completions")
FILES = set(
    [
        "assignment",
        "config",
        "edges",
        "file",
        "graphctl",
        "graphd",
        "html",
        "input",
        "ip_config",
        "log_file",
        "nodes",
        "part_config",
        "secret",
        "ssh_config",
        "trainer_hosts",
    ]
)
DIRECTORIES = set(
    [
        "memory_dir",
        "output",
        "rel_data_path",
        "runtime_dir",
        "script_folder",
        "state_dir",
        "workspace",
    ]
)
# Values that --help describes in words. Values in braces are read from its text.
CHOICES = {
    "format": "native dgl",
    "graph_formats": "coo csc csr",
    "header": "auto yes no",
    "input_format": "auto ogb edges parquet npy mtx chunked partition",
    "objtype": "cut vol",
    "part_method": "metis multilevel ldg fennel random hash file",
    "separator": "auto comma tab semicolon space",
}

# names: as typed, the usual one first. kind: "flag", "file", "directory", "choice", "other".
Option = collections.namedtuple("Option", "names kind choices repeatable text")
Verb = collections.namedtuple("Verb", "text options verbs takes_path takes_command")

OPTION = re.compile(
    r"  ((?:-\w,)?--[\w-]+(?:,--[\w-]+)*)"
    r"(?: ((?:TEXT|INT|UINT|FLOAT|NAME=VALUE)\S*(?: (?! )\S+)*))?(?:\s+(.*))?"
)


def parse_option(line, following):
    names, value, text = OPTION.fullmatch(line).groups()
    names = names.split(",")
    if re.match(r"(Excludes|Needs): ", text or ""):  # CLI11 prints the description on the next line
        text = None
    text = (text or following).strip()
    name = names[-1 if names[0] == "-h" else 0].lstrip("-")
    value = value or ("FILE" if name == "config" else None)  # CLI11 prints no type for --config
    braces = re.search(r"\{([\w,]+)\}", value or "")
    choices = braces.group(1).replace(",", " ") if braces else CHOICES.get(name, "")
    missing = [choice for choice in choices.split() if choice not in f"{value} {text}"]
    if missing:
        sys.exit(f"make_completions: --help of --{name} does not name {', '.join(missing)}")
    if value is None:
        kind = "flag"
    elif name in FILES:
        kind = "file"
    elif name in DIRECTORIES:
        kind = "directory"
    else:
        kind = "choice" if choices else "other"
    return Option(names, kind, choices, "..." in (value or ""), text)


def parse(program, *verbs):
    """Returns the Verb that a program's --help describes, with all verbs below it."""
    command = [program, *verbs, "--help"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    options, below, section = [], {}, ""
    for line, following in zip(lines, [*lines[1:], ""]):
        if re.match(r"\S", line) or not line:
            section = line
        elif section == "Options:" and line.startswith("  -"):
            options.append(parse_option(line, following))
        elif section == "Subcommands:" and re.match(r"  \w", line):
            name, text = line.split(None, 1)
            below[name] = parse(program, *verbs, name)._replace(text=text)
    everything = "\n".join(lines)
    return Verb(
        lines[0],
        options,
        below,
        re.search(r"^  path TEXT", everything, re.MULTILINE) is not None,
        "PROGRAM ARGUMENTS..." in everything,
    )


def every_verb(verb, path=""):
    """Yields (words, verb) of a verb and of those below it."""
    yield path, verb
    for name, below in verb.verbs.items():
        yield from every_verb(below, f"{path} {name}".strip())


def by_kind(program, verb):
    """Returns {kind or (choices): option names}, the same for all verbs."""
    kinds, found = {}, collections.defaultdict(set)
    for _, each in every_verb(verb):
        for option in each.options:
            kind = option.kind if option.kind != "choice" else option.choices
            for name in option.names:
                if kinds.setdefault(name, kind) != kind:
                    sys.exit(f"make_completions: {program} {name} is of two kinds")
                found[kind].add(name)
    return found


HEADER = """{first}# SPDX-License-Identifier: Apache-2.0
# Completes the verbs and options of {name} in {shell}. scripts/make_completions.py writes this file.
"""

BASH_END = """  if [[ $current = -* || -z $verbs$paths ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$aliases" -- "$current")
    fi
  elif [[ -n $verbs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
"""


def bash(name, top):
    kinds = by_kind(name, top)
    values = sorted(set().union(*(names for kind, names in kinds.items() if kind != "flag")))
    lines = [
        HEADER.format(first="", name=name, shell="bash"),
        f"_{name}() {{",
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
        "  local verb='' verbs='' options='' aliases='' paths='' word skip=''",
        "  COMPREPLY=()",
        "  # Bash makes a word of the = between an option and its value.",
        "  if [[ $current = = ]]; then",
        "    current=''",
        "  elif [[ $previous = = ]]; then",
        "    previous=${COMP_WORDS[COMP_CWORD - 2]}",
        "  fi",
        '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        "    case $verb:$skip:$word in",
    ]
    for path, verb in every_verb(top):
        for below in verb.verbs:
            lines.append(f"      '{path}'::{below}) verb='{f'{path} {below}'.strip()}' ;;")
        if verb.takes_command:  # the rest of the line is the command
            lines += [
                f"      {path}::-- | {path}::[!-]*)",
                "        compopt -o filenames 2>/dev/null",
                '        mapfile -t COMPREPLY < <(compgen -f -- "$current")',
                "        return ;;",
            ]
    lines += [
        "      *:yes:=) ;;",
        "      *:yes:*) skip='' ;;",
        "      *::=) skip=yes ;;",
        *case_of(values, "      *::", "skip=yes"),
        "    esac",
        "  done",
        "  case $previous in",
        *case_of(sorted(kinds.pop("file", [])), "    ", "paths=f"),
        *case_of(sorted(kinds.pop("directory", [])), "    ", "paths=d"),
    ]
    others = sorted(kinds.pop("other", []))
    kinds.pop("flag")
    for choices, names in sorted(kinds.items()):
        lines += case_of(
            sorted(names),
            "    ",
            f"mapfile -t COMPREPLY < <(compgen -W '{choices}' -- \"$current\"); return",
        )
    lines += case_of(others, "    ", "return")
    lines += [
        "  esac",
        "  if [[ -n $paths ]]; then",
        "    compopt -o filenames 2>/dev/null",
        '    mapfile -t COMPREPLY < <(compgen -"$paths" -- "$current")',
        "    return",
        "  fi",
        "  case $verb in",
    ]
    for path, verb in every_verb(top):
        names = [name for option in verb.options for name in usual(option)]
        other = [name for option in verb.options for name in option.names if name not in names]
        lines += [f"    '{path}')"]
        if verb.verbs:
            lines += [f"      verbs='{' '.join(verb.verbs)}'"]
        if verb.takes_path:
            lines += ["      paths=f"]
        lines += [*wrapped("options", names), *wrapped("aliases", other), "      ;;"]
    return "\n".join(lines) + "\n  esac\n" + BASH_END + f"complete -F _{name} {name}\n"


def usual(option):
    """Returns the names that are offered first: those with a hyphen only if they are typed."""
    return option.names if option.names[0] == "-h" else option.names[:1]


def case_of(names, before, action):
    """Returns the lines of a case of all names, in lines of at most 100 characters."""
    if not names:
        return []
    lines, line = [], " " * (len(before) - len(before.lstrip()))
    for name in names:
        pattern = before.strip() + name
        if len(line) + len(pattern) > 94:
            lines.append(line + "\\")
            line = " " * 8
        line += pattern + (" | " if name != names[-1] else ")")
    return [*lines, line, f"        {action} ;;"]


def wrapped(name, words):
    if not words:
        return []
    lines, line = [], f"      {name}='"
    for word in words:
        if len(line) + len(word) > 98:
            lines.append(line.rstrip())
            line = "        "
        line += word + " "
    return [*lines, line.rstrip() + "'"]


def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh_option(option):
    text = zsh_quoted(re.sub(r"([\[\]\\:])", r"\\\1", option.text))
    value = {
        "flag": "",
        "file": ":file:_files",
        "directory": ":directory:_files -/",
        "choice": f":value:({option.choices})",
        "other": ":value: ",
    }[option.kind]
    excluded = "*" if option.repeatable else f"({' '.join(option.names)})"
    equals = "" if option.kind == "flag" else "="
    return [f"'{excluded}{name}{equals}[{text}]{value}'" for name in option.names]


def zsh(name, top):
    lines = [HEADER.format(first=f"#compdef {name}\n", name=name, shell="zsh")]
    for path, verb in every_verb(top):
        function = "_" + "_".join([name, *path.split()])
        specs = [spec for option in verb.options for spec in zsh_option(option)]
        if verb.takes_path:
            specs.append("'1:path:_files'")
        if verb.takes_command:
            specs.append("'*::command:_normal'")
        if path.startswith("checkpoint "):
            specs += [] if path.endswith(" list") else ["'1:name: '"]
        if verb.verbs:
            specs += ["'1:verb:->verb'", "'*::argument:->argument'"]
        lines += [f"{function}() {{"]
        if verb.verbs:
            lines += ["  local state line curcontext=$curcontext", "  local -a verbs"]
        lines += [f"  _arguments{' -C' if verb.verbs else ''} -s \\"]
        lines += ["    " + " \\\n    ".join(specs)]
        if verb.verbs:
            lines += ["  case $state in", "    verb)", "      verbs=("]
            lines += [f"        '{n}:{zsh_quoted(v.text)}'" for n, v in verb.verbs.items()]
            lines += ["      )", "      _describe verb verbs", "      ;;", "    argument)"]
            lines += [
                f"      case $line[1] in ({'|'.join(verb.verbs)}) {function}_$line[1] ;; esac"
            ]
            lines += ["      ;;", "  esac"]
        lines += ["}", ""]
    return "\n".join(lines) + f'_{name} "$@"\n'


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin_dir", metavar="BIN_DIR")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()
    status, seen = 0, set()
    for name in ("graphd", "graphctl"):
        top = parse(os.path.join(arguments.bin_dir, name))
        for _, verb in every_verb(top):
            seen |= {n.lstrip("-") for option in verb.options for n in option.names}
        for file_name, text in ((f"{name}.bash", bash(name, top)), (f"_{name}", zsh(name, top))):
            path = os.path.join(FOLDER, file_name)
            if not arguments.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            elif not os.path.exists(path) or source_files.read(path) != text:
                print(f"{path} is not up to date: run scripts/make_completions.py BIN_DIR")
                status = 1
    unknown = (FILES | DIRECTORIES | set(CHOICES)) - seen
    if unknown:
        sys.exit(f"make_completions: no program has --{', --'.join(sorted(unknown))}")
    return status


if __name__ == "__main__":
    sys.exit(main())
