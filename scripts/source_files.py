# SPDX-License-Identifier: Apache-2.0
"""Lists the files of the repository for the checks of scripts/lint.

usage: python3 scripts/source_files.py cpp|shell|text
"""

import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
_NOT_SOURCES = {".git", ".cache", "build", "__pycache__"}


def _walk():
    """Yields every file below the root, where git cannot list the tracked ones."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in _NOT_SOURCES]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def tracked():
    """Returns the sorted paths of all tracked files, relative to the root.

    New files that git does not ignore are included, fixtures of the tests are not. Without git or
    its folder, as in an archive of the sources, the folders themselves are read.
    """
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "ls-files", "-z", "--cached",
               "--others", "--exclude-standard"]  # fmt: skip
    try:
        listed = subprocess.run(command, check=True, capture_output=True).stdout
        paths = {os.fsdecode(path) for path in listed.split(b"\0") if path}
    except (OSError, subprocess.CalledProcessError):
        paths = set(_walk())
    return sorted(
        path
        for path in paths
        if not path.startswith("tests/fixtures/") and os.path.isfile(os.path.join(ROOT, path))
    )


def read(path):
    """Returns the text of a file, or an empty string for a binary file."""
    with open(os.path.join(ROOT, path), "rb") as file:
        content = file.read()
    try:
        return "" if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def is_shell(path):
    """Returns whether a file is a shell script, by its first line."""
    return bool(re.match(r"#!\s*/\S*[/ ](ba|da)?sh\b", read(path).split("\n", 1)[0]))


def main():
    """Prints the paths of the kind that is asked for, each ended by a NUL."""
    kind = {
        "cpp": lambda path: path.endswith((".c", ".cc", ".h")),
        "shell": is_shell,
        "text": lambda path: read(path) != "",
    }[sys.argv[1]]
    for path in filter(kind, tracked()):
        sys.stdout.write(path + "\0")


if __name__ == "__main__":
    main()
