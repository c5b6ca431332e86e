#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the examples of the manual pages: a listing is the text of its file in examples/manual,
and the output below it is what the program prints in standalone mode, on partitions that DGL wrote.

--update writes the files' text and the programs' output to the pages.
"""
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BIN = os.environ.get("GRAPHD_BIN_DIR") or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin")
FIXTURE = os.path.join(ROOT, "tests", "fixtures", "dgl", "hetero_2p")
# Matches the display in a page after  .\" listing: NAME  or  .\" output: NAME.
DISPLAY = re.compile(r'(?m)^\.\\" (listing|output): (\w+)\n(\.Bd [^\n]*\n)(.*?)^\.Ed$', re.DOTALL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source(name):
    """Returns the text of an example without its licence line."""
    return read(os.path.join(ROOT, "examples", "manual", name + ".cc")).split("\n", 1)[1]


def to_roff(text):
    return re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", "\\e"))


def from_roff(text):
    return re.sub(r"(?m)^\\&([.'])", r"\1", text).replace("\\e", "\\")


def pages():
    return sorted(glob.glob(os.path.join(ROOT, "man", "*.3")))


def unpack(directory):
    """Unpacks the fixture to a directory and returns the path of its part config."""
    shutil.copytree(FIXTURE, directory, dirs_exist_ok=True)
    for path in glob.glob(os.path.join(directory, "part*", "*.gz")):
        with gzip.open(path) as packed, open(path[:-3], "wb") as out:
            shutil.copyfileobj(packed, out)
    return os.path.join(directory, "hetero.json")


def run(name, part_config):
    program = os.path.join(BIN, "..", "tests", "manual_" + name)
    # Options of sanitizers are kept; variables of graphd would change the output.
    environment = {n: value for n, value in os.environ.items() if not n.startswith("GRAPHD_")}
    environment["GRAPHD_PART_CONFIG"] = part_config
    return subprocess.run([program], env=environment, text=True, timeout=60, capture_output=True,
                          check=False)


class Manual(unittest.TestCase):
    def setUp(self):
        self.displays = [(os.path.basename(path), *found) for path in pages()
                         for found in DISPLAY.findall(read(path))]

    def test_every_page_has_an_example_and_every_example_a_page(self):
        examples = {os.path.basename(path)[:-3]
                    for path in glob.glob(os.path.join(ROOT, "examples", "manual", "*.cc"))}
        for kind in ("listing", "output"):
            self.assertEqual(sorted(name for _, what, name, _, _ in self.displays if what == kind),
                             sorted(examples), kind)
        self.assertEqual({page for page, *_ in self.displays},
                         {os.path.basename(path) for path in pages()})

    def test_listings_equal_their_files_and_are_short(self):
        for page, kind, name, _, text in self.displays:
            if kind == "listing":
                self.assertEqual(from_roff(text), source(name), f"{page}: run --update")
                self.assertLess(text.count("\n"), 40, page)

    def test_programs_print_the_output_on_the_pages(self):
        with tempfile.TemporaryDirectory() as scratch:
            part_config = unpack(scratch)
            for page, kind, name, _, text in self.displays:
                if kind == "output":
                    done = run(name, part_config)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), f"{page}: {name}")
                    self.assertEqual(done.stdout, from_roff(text), f"{page}: {name}")

    def test_without_a_graph_the_first_example_names_what_is_missing(self):
        done = run("session", "/nowhere/g.json")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("/nowhere/g.json", done.stderr)


def update():
    with tempfile.TemporaryDirectory() as scratch:
        part_config = unpack(scratch)

        def fill(match):
            kind, name, begin, _ = match.groups()
            text = source(name) if kind == "listing" else run(name, part_config).stdout
            return f'.\\" {kind}: {name}\n{begin}{to_roff(text)}.Ed'

        for path in pages():
            text = DISPLAY.sub(fill, read(path))
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
