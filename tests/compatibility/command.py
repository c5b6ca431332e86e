# SPDX-License-Identifier: Apache-2.0
"""Runs DGL's tests of dgl.distributed and PyG's tests of loaders with graphd in place of theirs, one
by one, each in a process of its own with a time limit, and makes the tables of docs/compatibility.md.

The tests are not part of this repository: get DGL's and PyG's sources, and give the folders. What is
imported as dgl and torch_geometric is what scripts/setup installs, with the modules of shim/."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import tables

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDERS = ("/tmp/dist_graph", "/tmp/partition")  # DGL's tests write there
BUILD = os.path.join(ROOT, "build", "compatibility")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tests/compatibility/run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dgl", metavar="FOLDER", help="tests/distributed of DGL's sources")
    parser.add_argument("--pyg", metavar="FOLDER", help="test/loader of PyG's sources")
    parser.add_argument("--only", metavar="PATTERN", default="",
                        help="run tests whose name matches this regular expression")  # fmt: skip
    parser.add_argument("--seconds", type=int, default=120, help="time limit of a test (120)")
    parser.add_argument("--jobs", type=int, default=1, help="tests that run at once (1)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"),
                        help="build tree (build/dev)")  # fmt: skip
    parser.add_argument("--results", default=BUILD, metavar="FOLDER",
                        help="where results are kept (build/compatibility)")  # fmt: skip
    parser.add_argument("--write_docs", action="store_true",
                        help="write the tables of docs/compatibility.md")  # fmt: skip
    parser.add_argument("--check", action="store_true",
                        help="compare results with docs/compatibility.md; 1: it has others")  # fmt: skip
    return parser.parse_args(arguments)


class Runner:
    """Runs the tests of one library."""

    def __init__(self, options, library, folder):
        self._options, self._library, self._folder = options, library, os.path.realpath(folder)
        self._python = os.path.join(ROOT, "build", "python", "bin", "python3")
        self.results_file = os.path.join(options.results, f"{library}.json")

    def _environment(self, work):
        paths = [os.path.join(HERE, "shim"), os.path.join(BUILD, "packages"),
                 os.path.join(self._options.build, "python"), self._folder,
                 os.path.join(os.path.dirname(self._folder))]  # fmt: skip
        return dict(
            os.environ,
            PYTHONPATH=":".join(paths),
            PYTHONDONTWRITEBYTECODE="1",
            OMP_NUM_THREADS="1",
            COLUMNS="400",  # pytest's summary has errors in full
            DGLBACKEND="pytorch",
            GRAPHD_BIN_DIR=os.path.join(self._options.build, "bin"),
            GRAPHD_LIBRARY=self._library,
            GRAPHD_WORK=work,
            GRAPHD_CHILDREN=os.path.join(work, "children"),
        )

    def _pytest(self, arguments, seconds):
        """Returns (exit status or None after the time limit, output, failed child processes)."""
        with tempfile.TemporaryDirectory(prefix="graphd-compatibility-") as work:
            output = os.path.join(work, "output")
            with open(output, "w", encoding="utf-8") as out:
                process = subprocess.Popen(
                    [*_with_own_folders(), self._python, "-m", "pytest", "-s",
                     "-p", "no:cacheprovider", "-p", "graphd_fixtures", *arguments],
                    cwd=work, env=self._environment(work), stdout=out, stderr=out,
                    start_new_session=True)  # fmt: skip
            try:
                code = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                code = None
            # The test may leave processes: all of them are in its session.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            with open(output, encoding="utf-8", errors="replace") as file:
                text = file.read()
            children = []
            if os.path.exists(os.path.join(work, "children")):
                with open(os.path.join(work, "children"), encoding="utf-8") as file:
                    children = file.read().splitlines()
        return code, text, children

    def collect(self):
        """Returns the ids of all tests, and of files that can't be imported."""
        found = []
        files = sorted(
            each for each in os.listdir(self._folder) if re.match(r"test_\w+\.py$", each)
        )
        for each in files:
            path = os.path.join(self._folder, each)
            code, text, _ = self._pytest(["--collect-only", "-q", path], self._options.seconds)
            tests = re.findall(rf"^\S*{re.escape(each)}::(\S.*)$", text, re.M) if code == 0 else []
            found += [f"{each}::{test}" for test in tests] or [each]
        return [each for each in found if re.search(self._options.only, each)]

    def run(self, tests):
        """Runs a test, or many cases of one function in one process. Returns their results."""
        begin = time.monotonic()
        paths = [os.path.join(self._folder, each) for each in tests]
        options = ["-v", "-rA", "--tb=short", *(["-x"] if len(tests) == 1 else [])]
        limit = self._options.seconds * (1 if len(tests) == 1 else 6)
        code, text, children = self._pytest([*options, *paths], limit)
        found = [self._result(each, len(tests), code, text, children) for each in tests]
        seconds = time.monotonic() - begin
        for each in found:
            print(
                f"{each['result']:8}{seconds:6.1f} s  {each['test']}  {each['error']}", flush=True
            )
        return found

    def _result(self, test, count, code, text, children):
        file, _, name = test.partition("::")
        line = re.search(rf"^(PASSED|FAILED|ERROR) \S*{re.escape(test)}(?: - (.*))?$", text, re.M)
        if re.search(rf"{re.escape(name or file)} SKIPPED", text):
            result, error = "skipped", (re.findall(r"^SKIPPED .*: (.*)$", text, re.M) or [""])[0]
        elif count > 1 and line:
            result, error = line[1].replace("ERROR", "FAILED").lower(), line[2] or ""
        elif code == 0 and not children:
            result, error = "passed", ""
        else:
            result, error = "failed", _first_error(text)
            if code is None:
                error += f" (not ended after {self._options.seconds} s)"
        output = text[-6000:] if count == 1 else ""
        return {"test": test, "result": result, "error": error, "output": output}


def _with_own_folders():
    """Returns the start of a command that has folders of its own where DGL's tests write, so that
    tests can run at once. Only root can make them."""
    if os.geteuid() != 0:
        return []
    mounts = " && ".join(f"mkdir -p {each} && mount -t tmpfs none {each}" for each in FOLDERS)
    return ["unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh"]


def _first_error(text):
    """Returns the first error of a child's traceback, or that of pytest."""
    lines = re.findall(r"^(?:E   )?((?:[\w.]+\.)?\w*(?:Error|Exception)\b.*)$", text, re.M)
    lines = [line for line in lines if not line.startswith("multiprocessing.")]
    if lines:
        return lines[0][:400]
    found = re.findall(r"^E  +(.*)$", text, re.M)
    return found[0][:400] if found else "a process failed"


def grouped(tests, library):
    """Returns the tests in groups that one process runs: the cases of a function with very many, and
    PyG's tests of a file, which start no processes."""
    by_function = {}
    for each in tests:
        name = each.partition("::" if library == "pyg" else "[")[0]
        by_function.setdefault(name, []).append(each)
    for cases in by_function.values():
        yield from [cases] if len(cases) > 16 else [[each] for each in cases]


def main(arguments):
    options = parse(arguments)
    if options.jobs > 1 and os.geteuid() != 0:
        print("DGL's tests write to the same folders: without root, they run one at a time")
        options.jobs = 1
    os.makedirs(options.results, exist_ok=True)
    packages = os.path.join(BUILD, "packages")
    if not os.path.exists(os.path.join(packages, "pytest")):
        subprocess.run([os.path.join(ROOT, "build", "python", "bin", "pip"), "install", "--quiet",
                        "--target", packages, "pytest==8.3.5"], check=True)  # fmt: skip
    for library, folder in (("dgl", options.dgl), ("pyg", options.pyg)):
        if folder is None:
            continue
        if not os.path.isdir(folder):
            sys.exit(f"--{library} {folder}: no such folder; give that of the tests in its sources")
        runner = Runner(options, library, folder)
        known = {}
        if os.path.exists(runner.results_file):
            with open(runner.results_file, encoding="utf-8") as file:
                known = {each["test"]: each for each in json.load(file)}
        tests = runner.collect()
        if not options.only:
            known = {}
        if not tests:
            sys.exit(f"--{library} {folder}: no test was found there")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for found in pool.map(runner.run, grouped(tests, library)):
                known.update((each["test"], each) for each in found)
                with open(runner.results_file, "w", encoding="utf-8") as file:
                    json.dump(list(known.values()), file, indent=1)
    page = os.path.join(ROOT, "docs", "compatibility.md")
    if options.write_docs:
        tables.write(options.results, page)
    if options.check:
        differences = tables.differences(options.results, page)
        print("\n".join(differences) or "docs/compatibility.md says the same")
        return 1 if differences else 0
    return 0
