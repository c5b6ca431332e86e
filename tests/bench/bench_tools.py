# SPDX-License-Identifier: Apache-2.0
"""The common part of the tests of bench/: its modules, its commands, and reading its pages."""
import os
import subprocess
import sys
from xml.etree import ElementTree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)


def build_folder():
    """Returns the folder of the build that is tested."""
    return os.path.dirname(os.environ.get("GRAPHD_BIN_DIR")
                           or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin"))


def run(command, *arguments):
    """Runs a command of bench/ and returns what it printed and its exit code."""
    return subprocess.run([os.path.join(BENCH, command), *arguments], capture_output=True, text=True,
                          timeout=200, check=False)


def parsed(page):
    """Parses a page, which fails unless every element is closed and every character is escaped.
    Returns all of its text and the number of its elements by name."""
    root = ElementTree.fromstring(page)
    counts = {}
    for element in root.iter():
        counts[element.tag] = counts.get(element.tag, 0) + 1
    return " ".join("".join(root.itertext()).split()), counts
