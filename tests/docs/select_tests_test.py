#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/select_tests.py selects the core always, every other test in one of the parts, and what has
changed lately until its time is used."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

import select_tests
from select_tests import ROOT, Test


def quarters(program, seconds, core=False):
    """Returns the tests of a program, as ctest has them with a sanitizer."""
    files, sources = {f"tests/{program}"}, [f"tests/unit/{program}/a_test.cc"]
    tests = [
        Test(f"{program}_{i}", f"{program}_{i}" if core else program, False, seconds, files, sources)
        for i in range(4)
    ]
    if core:
        tests.append(Test(f"{program}_core", f"{program}_core", True, seconds, files, sources))
    return tests


TESTS = [
    *quarters("client", 40, core=True),
    *quarters("store", 30, core=True),
    *quarters("wire", 5),
    *quarters("format", 25),
    *quarters("daemon/serving", 12),
    Test("launch", "launch", True, 50, {"bin/graphd"}, ["tests/integration/launch/launch.py"]),
    Test("copy", "copy", False, 60, {"bin/graphctl"}, ["tests/integration/copy/copy.py"]),
]
CORE = {"client_core", "store_core", "launch"}


def names(tests):
    return {test.name for test in tests}


class Parts(unittest.TestCase):
    def test_every_test_is_in_a_part_and_the_core_always_runs(self):
        count = len(select_tests.parts(TESTS, 150))
        self.assertGreater(count, 2)
        for first in (0, 931):
            runs = [
                names(select_tests.select(TESTS, number, [], 150, 0)[0])
                for number in range(first, first + count)
            ]
            self.assertEqual(set().union(*runs), names(TESTS))
            for run in runs:
                self.assertLessEqual(CORE, run)
                self.assertLess(len(run), len(TESTS))
            for name in names(TESTS) - CORE:
                self.assertEqual(sum(name in run for run in runs), 1, name)

    def test_programs_stay_whole_and_parts_take_about_the_same_time(self):
        seconds = {test.name: test.seconds for test in TESTS}
        for number in range(4):
            run = names(select_tests.select(TESTS, number, [], 150, 0)[0])
            self.assertIn(sum(name.startswith("format") for name in run), (0, 4))
            self.assertLess(sum(seconds[name] for name in run - CORE), 200)

    def test_a_test_runs_with_those_that_prepare_it(self):
        tests = [test._replace(setups={"copy"}) if test.name == "format_1" else test for test in TESTS]
        found = []
        for number in range(3):
            selected, text = select_tests.select(tests, number, [], 150, 0)
            self.assertLessEqual("format_1" in names(selected), "copy" in names(selected))
            alone = "copy" in names(selected) and "copy" not in names(
                select_tests.select(TESTS, number, [], 150, 0)[0]
            )
            self.assertEqual("with 1 more that prepare them" in text, alone)
            found.append(alone)
        self.assertIn(True, found)

    def test_one_part_has_everything_if_there_is_time(self):
        for number in range(3):
            selected, _ = select_tests.select(TESTS, number, [], 100000, 0)
            self.assertEqual(names(selected), names(TESTS))


def of(*programs):
    return {test.name for test in TESTS if not test.core and test.name[:-2] in programs}


class Changed(unittest.TestCase):
    def changed(self, commits, seconds=1000, number=0):
        return select_tests.changed_lately(TESTS, number, commits, seconds)

    def test_sources_and_modules_of_tests_count(self):
        for path, programs in {
            "tests/unit/wire/a_test.cc": ["wire"],
            "libclient/wire/frame.cc": ["wire"],
            "daemon/serving/session.h": ["daemon/serving"],
            "libclient/store/store.cc": ["store"],
            "libclient/store/log/push_log.cc": [],
            "README.md": [],
        }.items():
            self.assertEqual(self.changed([["man/a.1", path]]), (of(*programs), set()), path)

    def test_the_latest_changes_get_the_time_that_there_is(self):
        commits = [["libclient/wire/a.cc"], [], ["libclient/format/a.cc"], ["daemon/serving/a.cc"]]
        selected, left_out = self.changed(commits, 20)
        self.assertEqual((selected, left_out), (of("wire"), of("format", "daemon/serving")))
        selected, left_out = self.changed(commits, 69)
        self.assertEqual(selected & of("wire", "format"), of("wire") | {"format_0"})
        self.assertEqual(selected | left_out, of("wire", "format", "daemon/serving"))

    def test_the_quarters_that_fit_are_other_ones_each_time(self):
        commits = [["libclient/format/a.cc"]]
        runs = [self.changed(commits, 50, number)[0] for number in range(len(TESTS))]
        for run in runs:
            self.assertEqual(len(run), 2)
        self.assertEqual(set().union(*runs), of("format"))

    def test_a_run_names_what_it_leaves_out(self):
        commits = [["libclient/format/a.cc"]]
        parts = select_tests.parts(TESTS, 150)
        number = next(n for n, units in enumerate(parts) if "format" not in units)
        selected, text = select_tests.select(TESTS, number, commits, 150, 99)
        self.assertEqual(len(names(selected) & of("format")), 3)
        self.assertRegex(text, r"left out: format_\d$")
        selected, text = select_tests.select(TESTS, number, commits, 150, 100)
        self.assertLessEqual(of("format"), names(selected))
        self.assertNotIn("left out", text)
        selected, text = select_tests.select(TESTS, 0, commits, 100000, 0)
        self.assertEqual(len(selected), len(TESTS))
        self.assertNotIn("left out", text)


class Repository(unittest.TestCase):
    def test_the_times_and_the_core_are_of_known_presets(self):
        for preset in ("asan", "tsan"):
            self.assertGreater(len(select_tests.read_seconds(preset)), 80)
            lines = (ROOT / "tests" / "sanitizers" / "core.txt").read_text()
            self.assertGreater(len(re.findall(rf"^{preset} ", lines, re.M)), 3)

    def test_every_slow_test_exists_and_runs_in_turn(self):
        tests = select_tests.read_tests(pathlib.Path(os.environ["GRAPHD_BIN_DIR"]).parent, "")
        slow = set(select_tests.read_seconds("dev"))
        # These are there only where such an interpreter is installed.
        optional = {name for name in slow if name.startswith("wheel_works_with_cpython_")}
        self.assertEqual({test.name for test in tests if not test.core} | optional, slow)
        self.assertGreater(len(tests), len(slow) + 1000)

    def test_the_packages_are_packed_for_the_tests_that_install_them(self):
        tests = select_tests.read_tests(pathlib.Path(os.environ["GRAPHD_BIN_DIR"]).parent, "")
        setups = {test.name: test.setups for test in tests if test.setups}
        self.assertEqual(setups["debian_packages_install"], {"debian_packages_are_packed"})
        self.assertLessEqual(set().union(*setups.values()), names(tests))

    def test_the_history_has_the_paths_of_each_commit(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(
            select_tests, "ROOT", pathlib.Path(folder)
        ):
            git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run([*git, "init", "--quiet"], check=True)
            for name in ("first", "second"):
                (pathlib.Path(folder) / name).touch()
                subprocess.run([*git, "add", name], check=True)
                subprocess.run([*git, "commit", "--quiet", "-m", name], check=True)
            (pathlib.Path(folder) / "new").touch()
            self.assertEqual(select_tests.history(), (2, [["new"], ["second"], ["first"]]))


if __name__ == "__main__":
    unittest.main()
