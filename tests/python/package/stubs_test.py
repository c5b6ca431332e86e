# SPDX-License-Identifier: Apache-2.0
"""Compares the stub of the compiled module with the module.

mypy's stubtest compares names and kinds. It can't see the parameters of pybind11's functions, so
their numbers are compared here.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import graphd
from graphd import _graphd

FOLDER = pathlib.Path(graphd.__file__).parent


def number_of_parameters(function):
    """Returns the number of parameters in a signature of pybind11, like "f(self: A, arg0: int)"."""
    signature = function.__doc__.strip().splitlines()[0]
    return len(re.findall(r"[(,] ?\w+: ", signature))


def in_module(owner):
    """Returns {name: number of parameters, or None for attributes} of a module or class."""
    found = {}
    for name, held in vars(owner).items():
        if isinstance(held, type):
            found[name] = in_module(held)
        elif name == "__init__" and "arg0" not in (held.__doc__ or ""):
            continue  # the class has no constructor
        elif name in ("__init__", "__version__") or not name.startswith("_"):
            found[name] = number_of_parameters(held) if callable(held) else None
    return found


def in_stub(body):
    """Returns the same for the statements of a stub."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found[node.name] = in_stub(node.body)
        elif isinstance(node, ast.FunctionDef):
            is_property = any(ast.unparse(each) == "property" for each in node.decorator_list)
            count = len(node.args.posonlyargs + node.args.args)
            found[node.name] = None if is_property else count
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def stubtest(package_path):
    """Runs stubtest on graphd._graphd with the package at a path; returns its status and output."""
    with tempfile.TemporaryDirectory() as folder:  # stubtest makes its cache here
        done = subprocess.run(
            [sys.executable, "-m", "mypy.stubtest", "--concise", "graphd._graphd"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(package_path), "MYPYPATH": str(package_path)},
            capture_output=True,
            text=True,
            check=False,
        )
    return done.returncode, done.stdout + done.stderr


class Stubs(unittest.TestCase):
    maxDiff = None

    def test_stubtest_finds_nothing(self):
        self.assertEqual(stubtest(FOLDER.parent), (0, ""))

    def test_stubtest_finds_a_function_that_the_module_does_not_have(self):
        with tempfile.TemporaryDirectory() as path:
            package = pathlib.Path(path) / "graphd"
            package.mkdir()
            for each in FOLDER.iterdir():
                if each.name not in ("_graphd.pyi", "__pycache__"):
                    (package / each.name).symlink_to(each.resolve())
            text = (FOLDER / "_graphd.pyi").read_text(encoding="utf-8")
            (package / "_graphd.pyi").write_text(
                text + "\ndef no_such_function() -> int: ...\n", encoding="utf-8"
            )
            status, output = stubtest(path)
        self.assertEqual(status, 1, output)
        self.assertIn("no_such_function", output)

    def test_the_stub_matches_the_module(self):
        stub = in_stub(ast.parse((FOLDER / "_graphd.pyi").read_text(encoding="utf-8")).body)
        self.assertEqual(stub["Graph"]["find_edges"], 3)
        self.assertEqual(stub, in_module(_graphd))

    def test_all_other_modules_are_annotated_inline(self):
        self.assertEqual([path.name for path in FOLDER.rglob("*.pyi")], ["_graphd.pyi"])
        self.assertTrue((FOLDER / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
