#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tables of docs/dgl.md are complete and correct: no cell is empty, and every
header, function, option, variable, manual and test that they name exists. The tests that
docs/reliability.md and docs/howto/pyg.md name exist, too."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEADER = ["DGL", "graphd", "test", "difference and reason"]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def rows(text):
    """Yields (line number, cells) for every row of every table."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)
            assert cells[0] == "" and cells[-1].strip() == "", f"line {number}: no row: {line}"
            yield number, [cell.strip() for cell in cells[1:-1]]


def tests_of_sources():
    """Returns the names of tests by source file, as in the table: {"copy_cli_test": {"test_x"}}."""
    found = {}
    for directory, _, files in os.walk(os.path.join(ROOT, "tests")):
        for name in files:
            stem, ending = os.path.splitext(name)
            if ending == ".cc":
                names = re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)",
                                   read(directory, name), re.MULTILINE)
                found.setdefault(stem, set()).update(".".join(pair) for pair in names)
            elif ending == ".py":
                found.setdefault(stem, set()).update(
                    re.findall(r"^    def (test_\w+)\(", read(directory, name), re.MULTILINE))
            elif name == "CMakeLists.txt":  # tests that are scripts or programs
                found.setdefault("ctest", set()).update(re.findall(
                    r"(?:graphd_script|document)_test\((\w+)", read(directory, name)))
    return found


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        every = list(rows(read("docs", "dgl.md")))
        cls.headers = [(number, cells) for number, cells in every if cells[0] == "DGL"]
        cls.rows = [(number, cells) for number, cells in every
                    if cells[0] != "DGL" and not set("".join(cells)) <= set("-: ")]
        cls.tests = tests_of_sources()

    def each(self, check):
        """Calls check(cells) for each row and reports all failures with their lines."""
        wrong = []
        for number, cells in self.rows:
            wrong += [f"docs/dgl.md:{number}: {problem}" for problem in check(cells)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_every_table_has_four_columns_and_no_empty_cell(self):
        self.assertGreater(len(self.rows), 200)
        for number, cells in self.headers:
            self.assertEqual(cells, HEADER, f"docs/dgl.md:{number}")
        self.each(lambda cells: [f"{len(cells)} columns"] if len(cells) != 4 else
                  [f"nothing under '{HEADER[i]}'" for i in range(4) if not cells[i]])

    def test_no_row_is_repeated(self):
        seen = set()
        for number, cells in self.rows:
            self.assertNotIn((cells[0], cells[1]), seen, f"docs/dgl.md:{number}")
            seen.add((cells[0], cells[1]))

    def test_every_supported_feature_has_an_existing_test(self):
        def check(cells):
            if cells[1] in ("planned", "none"):
                return [] if cells[2] == "none" else ["a test of something that graphd does not have"]
            names = re.findall(r"`(\w+): ([\w.]+)`", cells[2])
            if not names or re.sub(r"`\w+: [\w.]+`", "", cells[2]).strip(" ,"):
                return [f"expected `source: name`, got {cells[2]}"]
            return [f"no test {name} in {source}" for source, name in names
                    if name not in self.tests.get(source, ())]
        self.each(check)

    def test_every_name_of_graphd_exists(self):
        self.each(self.unknown_names)

    def unknown_names(self, cells):
        if cells[1] in ("planned", "none"):
            return
        code, pages, known = "", "", 0
        for page, section in re.findall(r"\b([a-z][a-z.-]+)\((\d)\)", cells[1]):
            path = os.path.join("man", f"{page}.{section}")
            if os.path.exists(os.path.join(ROOT, path)):
                pages, known = pages + read(path), known + 1
            else:
                yield f"no {path}"
        quoted = re.findall(r"`([^`]+)`", cells[1])
        for name in quoted:
            if name.endswith(".h"):
                path = os.path.join("libclient", "include", name)
                if os.path.exists(os.path.join(ROOT, path)):
                    code, known = code + read(path), known + 1
                else:
                    yield f"no {path}"
        for name in quoted:
            if name.startswith("--"):
                if not re.search(rf"Fl -{name[2:]}\b", pages):
                    yield f"no {name} in the manual"
            elif name.startswith("graphctl "):
                if not re.search(rf"\b{name.split()[1]}\b", pages):
                    yield f"no {name} in the manual"
            elif re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name):
                known += 1
                if f'"{name}"' not in read("libclient", "client", "initialize.cc") + read(
                        "ctl", "plan", "host_order.cc") + read("ctl", "supervise", "trainer.cc"):
                    yield f"no variable {name}"
            elif not name.endswith(".h") and name != "orig_id":
                for word in re.findall(r"[A-Za-z_]\w*", name):
                    if not re.search(rf"\b{word}\b", code):
                        yield f"no '{word}' of {name} in the headers that are named"
        if not known:
            yield f"'{cells[1]}' names no header, manual or variable"


class Reliability(unittest.TestCase):
    def test_the_tests_that_the_page_names_exist(self):
        known = set().union(*tests_of_sources().values())
        named = re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", read("docs", "reliability.md"))
        self.assertGreater(len(named), 15)
        self.assertEqual([name for name in named if name not in known], [])


class Pyg(unittest.TestCase):
    def test_the_tests_that_the_page_names_exist(self):
        known = tests_of_sources()
        named = re.findall(r"`(\w+_test): (test_\w+)`", read("docs", "howto", "pyg.md"))
        self.assertGreater(len(named), 8)
        self.assertEqual(
            [(file, name) for file, name in named if name not in known.get(file, ())], [])


if __name__ == "__main__":
    unittest.main()
