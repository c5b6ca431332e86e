#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each pattern of tests/sanitizers/tsan_skipped.txt fits a case in the sources."""
import fnmatch
import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent


def cases():
    """Returns the names of GoogleTest cases, without the prefix and the parameter of an instance."""
    found = set()
    for source in TESTS.glob("**/*.cc"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(), re.M):
            found.add(f"{suite}.{name}")
    return found


class TsanSkipped(unittest.TestCase):
    def test_each_pattern_fits_a_case(self):
        known = cases()
        self.assertGreater(len(known), 700)
        lines = (TESTS / "sanitizers" / "tsan_skipped.txt").read_text().splitlines()
        patterns = [line for line in lines if line and not line.startswith("#")]
        self.assertGreater(len(patterns), 10)
        for pattern in patterns:
            bare = re.sub(r"/[^/]*$", "", pattern.split("/", 1)[1]) if "/" in pattern else pattern
            self.assertTrue(fnmatch.filter(known, bare), pattern)


if __name__ == "__main__":
    unittest.main()
