#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rejects comments that open as a fragment instead of a sentence or a noun phrase.

usage: scripts/check_comments.py [--list | --count] [PATH...]

Checks comments of C++, Python (docstrings, too), shell, CMake and Cap'n Proto files: of all tracked
ones, or of the files and folders PATH. A comment is rejected if it

- opens with a word that a sentence seldom opens with (FRAGMENT_WORDS: Of, Whose, What, ...),
- opens with When, If or another of CLAUSE_WORDS and its first sentence has no main clause,
- opens with For, With or another of PREPOSITIONS and is a few words long without a main clause
  ("For functions.", "Only before Start."), or
- opens with a lower-case word that is neither code nor a name. A comment behind code on its line
  may open with one, and with a clause.

The exit status is 1 if there are any; --list prints them and exits with 0, --count prints how many
there are in each folder.
"""

import argparse
import ast
import collections
import io
import os
import re
import sys
import tokenize

import source_files

FRAGMENT_WORDS = frozenset(
    [
        "and",
        "as",
        "but",
        "from",
        "how",
        "nor",
        "of",
        "or",
        "so",
        "than",
        "that",
        "what",
        "whatever",
        "where",
        "whereas",
        "which",
        "whichever",
        "who",
        "whoever",
        "whom",
        "whose",
        "why",
    ]
)
CLAUSE_WORDS = frozenset(
    ["although", "because", "if", "since", "though", "unless", "until", "when", "whenever", "while"]
)
PREPOSITIONS = frozenset(
    ["after", "at", "before", "beside", "by", "for", "in", "not", "on", "only", "with", "without"]
)
MOST_WORDS = 4  # a sentence that opens with a preposition is longer or has a comma
MOST_WORDS_AFTER_ONLY = 8
# Names of programs, libraries and formats that are written in lower case.
LOWER_CASE_NAMES = frozenset(
    [
        "apt",
        "capnp",
        "ccache",
        "clang",
        "cmake",
        "cpack",
        "ctest",
        "dgl",
        "dlopen",
        "dpkg",
        "dtype",
        "execvpe",
        "fsync",
        "gcc",
        "git",
        "gloo",
        "graphclient",
        "graphctl",
        "graphd",
        "gtest",
        "gzip",
        "libclient",
        "libgraphclient",
        "libssh",
        "libtorch",
        "libuv",
        "libxxhash",
        "malloc",
        "mandoc",
        "memfd",
        "metis",
        "mmap",
        "mypy",
        "networkx",
        "ninja",
        "nsenter",
        "numpy",
        "pickle",
        "pip",
        "pybind",
        "pytest",
        "ruff",
        "scipy",
        "shellcheck",
        "ssh",
        "sshd",
        "strace",
        "systemctl",
        "systemd",
        "tmpfs",
        "torch",
        "zlib",
    ]
)
KEYWORDS = frozenset(
    [
        "and",
        "as",
        "assert",
        "auto",
        "break",
        "case",
        "class",
        "const",
        "continue",
        "def",
        "default",
        "del",
        "do",
        "double",
        "elif",
        "else",
        "enum",
        "except",
        "false",
        "finally",
        "float",
        "for",
        "from",
        "if",
        "import",
        "in",
        "int",
        "is",
        "lambda",
        "new",
        "not",
        "or",
        "pass",
        "private",
        "public",
        "raise",
        "return",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "union",
        "unsigned",
        "until",
        "using",
        "virtual",
        "void",
        "while",
        "with",
        "yield",
        "local",
        "then",
        "done",
        "fi",
    ]
)
DIRECTIVES = re.compile(
    r"SPDX-|NOLINT|clang-format (on|off)|shellcheck |codespell:|noqa\b|type: |pragma\b|mypy: "
    r"|ruff: |fmt: |cmake-|IWYU|namespace\b|!|end of |#"
)
# Matches what follows a first word that is code: the rest of a name, a call, options of a command.
CODE = re.compile(r"[\w:(\[<*/=@+]|[.-][\w*]|\.\.\.| [-=+<>*/]|\s\w+\(")
CODE_AFTER = 12  # number of lines after a comment in which names are looked up

Comment = collections.namedtuple("Comment", "line text trailing names")


def is_phrase(sentence):
    """Returns whether what opens with one of PREPOSITIONS is not a sentence, as far as one can say."""
    before_colon = re.split(r":\s", sentence, maxsplit=1)[0]
    words = before_colon.split()
    if "," in before_colon or len(words) < 2:
        return False
    if words[0].lower() == "only":
        return words[1] in PREPOSITIONS and len(words) <= MOST_WORDS_AFTER_ONLY
    return len(words) <= MOST_WORDS and words[1] != "most"


def problem(comment):
    """Returns why a comment is rejected, or None."""
    text = comment.text
    match = re.match(r"[A-Za-z][A-Za-z']*", text)
    if not match or DIRECTIVES.match(text):
        return None
    word = match.group()
    rest = text[match.end() :]
    if word in comment.names or CODE.match(rest) or re.search(r"[a-z][A-Z]", word):
        return None
    if word.lower() in FRAGMENT_WORDS:
        return f"opens with '{word}'"
    if comment.trailing:
        return None
    sentence = re.split(r"[.!?;](?:\s|$)", text, maxsplit=1)[0]
    if word.lower() in PREPOSITIONS and is_phrase(sentence):
        return f"opens with '{word}' and has no main clause"
    if word.lower() in CLAUSE_WORDS and not re.search(r",\s+\w|\bthen\b|:\s", sentence):
        return f"opens with '{word}' and has no main clause"
    listed = len(word) == 1 or rest.startswith(",") or " -> " in text
    if word[0].islower() and word not in LOWER_CASE_NAMES and not listed:
        return f"opens in lower case with '{word}'"
    return None


def blocks(marked, names_near):
    """Joins comment lines to blocks.

    `marked` has (line, column, text, is_trailing) of each comment line; `names_near(first, last)`
    returns the names in the code near a block.
    """
    found = []
    block = None  # [first line, last line, column, texts, trailing]
    for line, column, text, trailing in [*marked, (None, None, "", True)]:
        if block and line == block[1] + 1 and column == block[2] and not trailing:
            block[1] = line
            block[3].append(text)
            continue
        if block:
            found.append(block)
        block = [line, line, column, [text], trailing]
    result = []
    for first, last, _, texts, trailing in found:
        while texts and (not texts[0].strip() or DIRECTIVES.match(texts[0].strip())):
            texts.pop(0)
            first += 1
        if texts:
            text = " ".join(text.strip() for text in texts)
            result.append(Comment(first, text, trailing, names_near(first, last)))
    return result


def namer(code_lines):
    """Returns a function that gives the names in the code near a comment, most of them after it."""

    def names_near(first, last):
        near = " ".join(code_lines[max(first - 2, 0) : last + CODE_AFTER])
        return frozenset(re.findall(r"\b[A-Za-z_]\w*\b", near)) - KEYWORDS

    return names_near


CPP_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"
    |"(?:\\.|[^"\\\n])*"
    |(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)


def cpp_comments(text):
    """Returns the comments of a C++ file."""
    marked, code, end = [], [], 0
    for match in CPP_TOKENS.finditer(text):
        comment = match.group("comment")
        code.append(text[end : match.start()])
        end = match.end()
        line = text.count("\n", 0, match.start()) + 1
        if comment is None:
            code.append('""' + "\n" * match.group().count("\n"))
            continue
        code.append("\n" * comment.count("\n"))
        start = text.rfind("\n", 0, match.start()) + 1
        trailing = bool(text[start : match.start()].strip())
        column = match.start() - start
        if comment.startswith("//"):
            marked.append((line, column, comment.lstrip("/!<").strip(), trailing))
        elif "\n" in comment or text[end : end + 1] == "\n":  # not the name of an argument
            for offset, part in enumerate(comment[2:-2].split("\n")):
                marked.append((line + offset, column, part.strip(" *"), trailing and offset == 0))
    code.append(text[end:])
    return blocks(marked, namer("".join(code).split("\n")))


def python_comments(text):
    """Returns the comments and docstrings of a Python file."""
    marked, lines = [], text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                marked.append(
                    (row, column, token.string.lstrip("#").strip(),
                     bool(lines[row - 1][:column].strip()))
                )  # fmt: skip
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"cannot be parsed: {error}") from error
    comment_at = {row: column for row, column, _, _ in marked}
    code = [line[: comment_at.get(row)] for row, line in enumerate(lines, 1)]
    found = blocks(marked, namer(code))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                names = {node.name} if hasattr(node, "name") else set()
                if hasattr(node, "args"):
                    every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                    names |= {argument.arg for argument in every}
                text = " ".join(docstring.split())
                found.append(Comment(node.body[0].lineno, text, False, frozenset(names)))
    return sorted(found)


def hash_comments(text):
    """Returns the comments of a shell, CMake or Cap'n Proto file."""
    marked, code = [], []
    for row, line in enumerate(text.split("\n"), 1):
        # A # inside quotes is not a comment; in quotes that span lines, only whole lines are found.
        match = re.match(
            r"""((?:[^'"#\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*"|(?<=[^\s])#)*?)#+ (.*)""", line
        )
        if not match or (row == 1 and line.startswith("#!")):
            marked += [(row, 0, "", False)] if line.strip() == "#" else []
            code.append(line)
            continue
        before = match.group(1)
        marked.append((row, len(before), match.group(2).strip(), bool(before.strip())))
        code.append(before)
    return blocks(marked, namer(code))


def reader_of(path):
    """Returns the function that finds the comments of a file, or None."""
    name, ending = os.path.splitext(os.path.basename(path))
    if ending in (".cc", ".h"):
        return cpp_comments
    if ending in (".py", ".pyi"):
        return python_comments
    if ending in (".sh", ".bash", ".cmake", ".capnp") or name == "CMakeLists":
        return hash_comments
    return hash_comments if ending == "" and source_files.is_shell(path) else None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders")
    parser.add_argument("--list", action="store_true", help="exit with 0 in any case")
    parser.add_argument("--count", action="store_true", help="print the number in each folder")
    arguments = parser.parse_args()
    wanted = [os.path.relpath(path, source_files.ROOT) for path in arguments.paths]
    found = collections.Counter()
    checked = 0
    for path in source_files.tracked():
        if wanted and not any(w in (path, ".") or path.startswith(w + "/") for w in wanted):
            continue
        reader = reader_of(path)
        if not reader:
            continue
        try:
            comments = reader(source_files.read(path))
        except ValueError as error:
            sys.exit(f"check_comments: {path}: {error}")
        for comment in comments:
            checked += 1
            why = problem(comment)
            if why:
                found[os.path.dirname(path) or "."] += 1
                if not arguments.count:
                    text = comment.text if len(comment.text) <= 100 else comment.text[:97] + "..."
                    print(f"{path}:{comment.line}: {why}: {text}")
    if arguments.count:
        for folder, number in sorted(found.items()):
            print(f"{number:5} {folder}")
    print(f"check_comments: {found.total()} of {checked} comments open as a fragment")
    return 1 if found and not arguments.list else 0


if __name__ == "__main__":
    sys.exit(main())
