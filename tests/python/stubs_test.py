# SPDX-License-Identifier: Apache-2.0
"""The type stubs name what there is: every function and method with its parameters and defaults, and
nothing else."""
import ast
import glob
import importlib
import inspect
import os
import unittest

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "graphd")


def parameters(node):
    """[(name, has a default)] of a function in a stub."""
    given = node.args
    plain = given.posonlyargs + given.args
    first = len(plain) - len(given.defaults)
    found = [(arg.arg, i >= first) for i, arg in enumerate(plain)]
    found += [(given.vararg.arg, False)] if given.vararg else []
    found += [(arg.arg, default is not None)
              for arg, default in zip(given.kwonlyargs, given.kw_defaults)]
    return found + ([(given.kwarg.arg, False)] if given.kwarg else [])


class Stubs(unittest.TestCase):
    def compare(self, body, owner, where):
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.compare(node.body, getattr(owner, node.name), f"{where}.{node.name}")
            elif isinstance(node, ast.FunctionDef):
                name = f"{where}.{node.name}"
                thing = inspect.getattr_static(owner, node.name)
                if isinstance(thing, property):
                    continue
                function = getattr(thing, "__func__", thing)
                wanted = [(p.name, p.default is not p.empty)
                          for p in inspect.signature(function).parameters.values()]
                self.assertEqual(parameters(node), wanted, name)

    def test_they_are_true(self):
        stubs = glob.glob(os.path.join(PACKAGE, "**", "*.pyi"), recursive=True)
        self.assertGreater(len(stubs), 5)
        for path in stubs:
            name = os.path.relpath(path, os.path.dirname(PACKAGE))[:-len(".pyi")]
            name = name.replace(os.sep, ".").removesuffix(".__init__")
            with open(path, encoding="utf-8") as file:
                self.compare(ast.parse(file.read()).body, importlib.import_module(name), name)

    def test_everything_public_is_in_them(self):
        for name in ("graphd", "graphd.distributed", "graphd.sampling"):
            folder = os.path.join(PACKAGE, *name.split(".")[1:])
            path = os.path.join(folder, "__init__.pyi") if os.path.isdir(folder) else f"{folder}.pyi"
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            known = {getattr(node, "name", None) for node in tree.body}
            known |= {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom)
                      for alias in node.names}
            known |= {target.id for node in tree.body if isinstance(node, ast.Assign)
                      for target in node.targets}
            self.assertLessEqual(set(importlib.import_module(name).__all__), known, name)


if __name__ == "__main__":
    unittest.main()
