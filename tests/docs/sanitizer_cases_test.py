#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each pattern of tests/sanitizers/tsan_skipped.txt and core.txt fits a case in the
sources, and each program and script of core.txt a test."""
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


def lines(name):
    read = (TESTS / "sanitizers" / name).read_text().splitlines()
    return [line for line in read if line and not line.startswith("#")]


class SanitizerCases(unittest.TestCase):
    def check(self, patterns):
        known = cases()
        self.assertGreater(len(known), 700)
        self.assertGreater(len(patterns), 10)
        for pattern in patterns:
            bare = re.sub(r"/[^/]*$", "", pattern.split("/", 1)[1]) if "/" in pattern else pattern
            self.assertTrue(fnmatch.filter(known, bare), pattern)

    def test_each_skipped_pattern_fits_a_case(self):
        self.check(lines("tsan_skipped.txt"))

    def test_each_core_pattern_fits_a_case_of_a_test(self):
        words = [line.split() for line in lines("core.txt")]
        self.check([case for _, _, *cases in words for text in cases for case in text.split(":")])
        lists = "\n".join(path.read_text() for path in TESTS.glob("**/CMakeLists.txt"))
        programs = set(re.findall(r"^ *graphd_test\((\w+)", lists, re.M))
        for preset, test, *patterns in words:
            self.assertIn(preset, ("asan", "tsan"))
            self.assertLessEqual(len(patterns), 1, test)
            if patterns:
                self.assertIn(test, programs)
            else:
                self.assertIn(test.removesuffix("_test"), lists)


if __name__ == "__main__":
    unittest.main()
