#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the tables of docs/compatibility.md, without DGL's and PyG's tests, which made them: that they
are consistent, that each failure has a reason, that the reasons are those of reasons.json, and that
tests of our own which they name exist."""
import glob
import json
import os
import re
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMPATIBILITY = os.path.join(ROOT, "tests", "compatibility")
PAGE = os.path.join(ROOT, "docs", "compatibility.md")
sys.path.insert(0, COMPATIBILITY)
sys.dont_write_bytecode = True
import tables  # noqa: E402


def counts(result):
    """Returns how many cases of a function have passed, failed and were skipped."""
    found = {kind: int(number or 1)
             for number, kind in re.findall(r"(?:(\d+) )?(passed|failed|skipped)", result)}
    return [found.get(kind, 0) for kind in ("passed", "failed", "skipped")]


class Page(unittest.TestCase):
    def each(self):
        """Yields the library, the file, the function, its result and the reason of each row."""
        for library in ("dgl", "pyg"):
            for (file, function), row in tables.rows(PAGE, library).items():
                yield (library, file, function, *row)

    def test_the_sums_of_files_are_those_of_their_tests(self):
        sums = {}
        for _, file, _, result, _ in self.each():
            sums[file] = [a + b for a, b in zip(sums.get(file, [0, 0, 0]), counts(result))]
        self.assertGreater(len(sums), 10)
        with open(PAGE, encoding="utf-8") as page:
            shown = re.findall(r"^\| `(\S+)` \| (\d+) \| (\d+) \| (\d+) \|$", page.read(), re.M)
        self.assertEqual(sums, {file: list(map(int, numbers)) for file, *numbers in shown})

    def test_each_failure_has_a_reason_of_reasons_json(self):
        with open(os.path.join(COMPATIBILITY, "reasons.json"), encoding="utf-8") as file:
            reasons = json.load(file)
        used = set()
        for library, _, function, result, reason in self.each():
            mine = {each["text"] for each in reasons[library] if each["text"] in reason}
            used |= mine
            self.assertNotIn("NOT EXPLAINED", reason, function)
            if "failed" in result:
                self.assertTrue(mine, f"{function}: {reason!r} is not in reasons.json")
        self.assertEqual(used, {each["text"] for some in reasons.values() for each in some})

    def test_tests_of_our_own_exist(self):
        with open(PAGE, encoding="utf-8") as page:
            named = set(re.findall(r"\b(?!test_)(\w+_test\.py)", page.read()))
        self.assertTrue(named)
        for name in named:
            self.assertTrue(glob.glob(f"{ROOT}/tests/**/{name}", recursive=True), name)

    def test_ports_are_of_listed_tests(self):
        ported = 0
        for library in ("dgl", "pyg"):
            listed = tables.rows(PAGE, library)
            for path in glob.glob(f"{COMPATIBILITY}/ported/{library}/test_*.py"):
                with open(path, encoding="utf-8") as file:
                    for function in re.findall(r"^def (test_\w+)", file.read(), re.MULTILINE):
                        self.assertIn((os.path.basename(path), function), listed)
                        ported += 1
        self.assertGreater(ported, 15)


if __name__ == "__main__":
    unittest.main()
