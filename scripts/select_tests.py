#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Selects the tests that scripts/test --recent runs: the core; a part of the others, another one with
each commit; and tests of which a source, or a source of the module that they test, has changed in the
latest 20 commits. The core under a sanitizer is in tests/sanitizers/core.txt. Without one it is all
tests but the slow ones, whose times are in tests/seconds.txt.

  scripts/select_tests.py BUILD [--without LABELS]  writes BUILD/tests/left_out_tests, for ctest -E,
                                                    and BUILD/tests/selected_targets, for ninja
  scripts/select_tests.py BUILD --save_seconds      writes the processor times of the latest run of
                                                    all tests to tests/seconds.txt

BUILD is build/asan or build/tsan, configured, or build/dev, built. The parts take about the same time,
and there are as many as PART_SECONDS asks for. With a sanitizer, a program without core cases is in a
part as a whole, because building it takes as long as running it. The quarters of one with core cases,
which is built in any case, are distributed over the parts.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = ROOT / "tests" / "seconds.txt"
# The processor time of a part, and the most for tests that were selected because they have changed.
PART_SECONDS = {"dev": 200, "asan": 100, "tsan": 70}
CHANGED_SECONDS = {"dev": 90, "asan": 30, "tsan": 30}
SLOW_SECONDS = 4.5  # processor time from which a test without a sanitizer is not in the core
UNKNOWN_SECONDS = {"dev": 0.4, "asan": 5, "tsan": 5}  # for a test that is not in the file
# Tests run four at a time on two processors, and wait now and then: so much of the time of one of them
# is processor time.
PROCESSOR_SHARE = 0.45
RECENT_COMMITS = 20
# Programs that script tests run by other names than their paths.
PROGRAMS = ("bin/graphd", "bin/graphctl", "tests/ring_trainer")

# A test of ctest. `unit` is the program, or the test if it can be selected by itself; `files` are the
# paths that ninja builds for it; `sources` are relative to the repository. `setups` are the names
# of the tests whose results it uses: ctest -E leaves them out even if a test that runs needs them.
Test = collections.namedtuple(
    "Test", "name unit core seconds files sources setups", defaults=[frozenset()]
)


def parts(tests, seconds):
    """Distributes the units of tests that are not core over parts of about `seconds` each."""
    total = collections.Counter()
    for test in tests:
        if not test.core:
            total[test.unit] += test.seconds
    made = [[0, set()] for _ in range(max(1, math.ceil(sum(total.values()) / seconds)))]
    for unit, takes in sorted(total.items(), key=lambda item: (-item[1], item[0])):
        shortest = min(made, key=lambda part: part[0])
        shortest[0] += takes
        shortest[1].add(unit)
    return [units for _, units in made]


def changed_lately(tests, number, commits, most_seconds):
    """Selects tests by `commits`, the paths that each of the latest commits has changed, latest first.

    Returns the names of tests that take `most_seconds` together at most, and of those that are left
    out. Where only some quarters of a program fit, `number` says which.
    """
    selected, left_out, used = set(), set(), 0
    for paths in commits:
        changed = set(paths) | {os.path.dirname(path) for path in paths}
        for i in range(len(tests)):
            test = tests[(i + number) % len(tests)]
            if test.core or test.name in selected | left_out:
                continue
            if not changed & {*test.sources, *(f for path in test.sources for f in modules_of(path))}:
                continue
            if used + test.seconds <= most_seconds:
                used += test.seconds
                selected.add(test.name)
            else:
                left_out.add(test.name)
    return selected, left_out


def modules_of(source):
    """Returns the folders of the module that a source of a test stands for: tests mirror the tree."""
    for folder in ("tests/unit/", "tests/integration/"):
        if source.startswith(folder):
            module = os.path.dirname(source)[len(folder):]
            return {module, f"libclient/{module}", os.path.dirname(source)}
    return set()


def select(tests, number, commits, part_seconds, changed_seconds):
    """Returns the selected tests and a sentence about them; `number` chooses the part."""
    made = parts(tests, part_seconds)
    part = made[number % len(made)]
    others = [test for test in tests if test.unit not in part]
    changed, left_out = changed_lately(others, number, commits, changed_seconds)
    wanted = [test for test in tests if test.core or test.unit in part or test.name in changed]
    names = {test.name for test in wanted}.union(*(test.setups for test in wanted))
    selected = [test for test in tests if test.name in names]
    core = sum(test.core for test in tests)
    text = (f"{len(selected)} of {len(tests)} tests, some {sum(t.seconds for t in selected):.0f} s of"
            f" processor time: {core} of the core, {len(wanted) - core - len(changed)} of part"
            f" {number % len(made) + 1} of {len(made)}, and {len(changed)} of what has changed lately")
    if len(selected) > len(wanted):
        text += f", with {len(selected) - len(wanted)} more that prepare them"
    if left_out := left_out - names:
        text += f"; changed, too, but left out: {' '.join(sorted(left_out))}"
    return selected, text


def git(*arguments):
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def history():
    """Returns the number of commits and the paths that each of the latest ones has changed."""
    number = int(git("rev-list", "--count", "HEAD"))
    uncommitted = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    log = git("log", f"--max-count={RECENT_COMMITS}", "--no-merges", "--name-only", "--format=%x00")
    return number, [uncommitted.splitlines()] + [text.split() for text in log.split("\0")[1:]]


def read_seconds(preset):
    """Returns the times of SECONDS by the names of tests."""
    rows = (line.split() for line in SECONDS.read_text().splitlines() if not line.startswith("#"))
    return {name: float(takes) for of, name, takes in rows if of == preset}


def read_tests(build, without):
    """Returns the tests of a build tree whose label does not match `without`."""
    listed_sources = build / "tests" / "sources.txt"  # is there with a sanitizer
    has_sanitizer = listed_sources.exists()
    command = ["ctest", "--test-dir", build, "--show-only=json-v1"]
    if without:
        command += ["-LE", without]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    sources = {}
    if has_sanitizer:
        for line in listed_sources.read_text().splitlines():
            program, *paths = line.split(";")
            sources[program] = [os.path.relpath(path, ROOT) for path in paths]
    properties = {entry["name"]: {item["name"]: item["value"] for item in entry["properties"]}
                  for entry in listed["tests"]}
    setups = collections.defaultdict(set)  # by the names of fixtures
    for name in properties:
        for fixture in properties[name].get("FIXTURES_SETUP", []):
            setups[fixture].add(name)
    preset = build.name if has_sanitizer else "dev"
    seconds, unknown = read_seconds(preset), UNKNOWN_SECONDS[preset]
    tests = []
    for entry in listed["tests"]:
        name, given = entry["name"], properties[entry["name"]]
        program, narrowed = re.subn(r"_\d+_bits$", "", name)  # at another width of vectors
        program = re.sub(r"_(\d|core)$", "", program)
        if program in sources:
            files, paths = {f"tests/{program}"}, sources[program]
            if narrowed:
                files.add("tests/at_vector_bits")
        else:  # a script, whose interpreter exists; without its program, ctest would not have a command
            program, command = name, entry.get("command", [])
            text = "\n".join([*command, *given.get("ENVIRONMENT", [])])
            files = {*PROGRAMS, *re.findall(re.escape(f"{build}/") + r"(tests/[\w.]+)$", text, re.M)}
            scripts = [word for word in command if word.startswith(f"{ROOT}/tests/")]
            paths = [os.path.relpath(path, ROOT) for path in scripts]
        core = "core" in given.get("LABELS", []) if has_sanitizer else name not in seconds
        needs = set().union(*(setups[fixture] for fixture in given.get("FIXTURES_REQUIRED", [])))
        tests.append(Test(name, program, core, seconds.get(name, unknown), files, paths, needs))
    built = {test.unit for test in tests if test.core}
    return [test._replace(unit=test.name) if test.unit in built else test for test in tests]


def save_seconds(build):
    """Replaces the times of a preset in SECONDS by those of its latest run."""
    log = (build / "tests.log").read_text()
    rows = re.findall(r"^ *\d+/\d+ +Test +#\d+: (\S+) [. ]*Passed +([\d.]+) sec$", log, re.M)
    old = SECONDS.read_text().splitlines() if SECONDS.exists() else []
    kept = [line for line in old if not line.startswith(f"{build.name} ")]
    times = [(name, float(takes) * PROCESSOR_SHARE) for name, takes in rows]
    lines = kept + [f"{build.name} {name} {seconds:.1f}" for name, seconds in times
                    if build.name != "dev" or seconds >= SLOW_SECONDS]
    comments = [line for line in lines if line.startswith("#")]
    SECONDS.write_text("\n".join(comments + sorted(set(lines) - set(comments))) + "\n")
    print(f"select_tests: {SECONDS}: wrote the times of {len(rows)} tests")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n\n", 1)[1])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--without", default="", metavar="LABELS")
    parser.add_argument("--save_seconds", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    if build.name not in PART_SECONDS:
        sys.exit(f"select_tests: {build}: give the build tree of one of: {' '.join(PART_SECONDS)}")
    if options.save_seconds:
        return save_seconds(build)
    tests = read_tests(build, options.without)
    try:
        number, commits = history()
        selected, text = select(tests, number, commits, PART_SECONDS[build.name],
                                CHANGED_SECONDS[build.name])
    except (OSError, subprocess.CalledProcessError) as error:
        selected, text = tests, f"all tests, because their history is missing: {error}"
    files = sorted(set().union(*(test.files for test in selected)))
    (build / "tests" / "selected_targets").write_text("\n".join(files) + "\n")
    run = {test.name for test in selected}
    names = "|".join(re.escape(test.name) for test in tests if test.name not in run)
    (build / "tests" / "left_out_tests").write_text(f"^({names})$\n")
    print(f"select_tests: {build.name}: {text}")


if __name__ == "__main__":
    main()
