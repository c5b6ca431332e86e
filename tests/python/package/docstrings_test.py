# SPDX-License-Identifier: Apache-2.0
"""Checks that every public function, class and method has a docstring in NumPy's style, with the
sections Parameters, which names each of them, Returns or Yields, and Raises."""

import ast
import importlib
import inspect
import re
import textwrap
import unittest

MODULES = (
    "graphd",
    "graphd.distributed",
    "graphd.sampling",
    "graphd.checkpoint",
    "graphd.device",
    "graphd.inference",
    "graphd.distributed.node_names",
    "graphd.errors",
    "graphd.distributed.optim",
    "graphd.distributed.init",
    "graphd.nn",
    "graphd.plot",
    "graphd.spark",
    "graphd.sampled",
    "graphd.subgraph",
)
# Users do not call the constructors of these classes.
FOUND = {"Block", "GraphPartitionBook", "NodeNames", "Partition", "SampledGraph", "Subgraph"}


def public(module):
    """Yields (name, function or class) for the public names that graphd defines."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]
    for name in names:
        thing = getattr(module, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield f"{module.__name__}.{name}", thing


def functions(where, thing):
    """Yields (name, function or None, docstring) of a function, or of a class and its methods."""
    if inspect.isfunction(thing):
        yield where, thing, inspect.getdoc(thing)
        return
    own = [each for each in thing.__mro__ if each.__module__.startswith("graphd")]
    made = next((vars(each)["__init__"] for each in own if "__init__" in vars(each)), None)
    yield where, None if thing.__name__ in FOUND else made, inspect.getdoc(thing)
    for name, held in {name: held for each in own for name, held in vars(each).items()}.items():
        method = getattr(held, "__func__", held)
        if name.startswith("_"):
            continue
        if inspect.isclass(method):
            yield from functions(f"{where}.{name}", method)
        elif isinstance(held, property):
            yield f"{where}.{name}", None, inspect.getdoc(held)
        elif inspect.isfunction(method):
            yield f"{where}.{name}", method, inspect.getdoc(method)


def sections(doc):
    """Returns {title: lines} of a docstring."""
    parts = re.split(r"^(\w+)\n-{3,}\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def documented(section):
    """Returns the names that a section explains: those before a colon, without indentation."""
    lines = re.findall(r"^(\S.*?)(?: :.*)?$", section, re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(",")}


def has(function, kinds):
    """Returns whether the function itself, not an inner one, has a statement of these kinds that
    raises an error, or returns or yields a value."""

    def statements(node):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
                yield child
                yield from statements(child)

    try:
        source = inspect.getsource(function)
    except OSError:  # a method that dataclasses generates has no source
        return False
    tree = ast.parse(textwrap.dedent(source)).body[0]
    return any(
        isinstance(node, kinds) and getattr(node, "value", True) is not None
        for node in statements(tree)
    )


def lacking(function, doc):
    """Returns the names and sections that a docstring of a function or class lacks."""
    if not doc:
        return ["a docstring"]
    if function is None or doc.startswith("See `"):
        return []
    there = sections(doc)
    explained = documented(there.get("Parameters", "") + there.get("Attributes", ""))
    missing = sorted(set(inspect.signature(function).parameters) - {"self", "cls"} - explained)
    if (
        has(function, (ast.Return, ast.Yield))
        and not function.__name__.startswith("__")
        and not there.keys() & {"Returns", "Yields"}
    ):
        missing.append("Returns")
    if has(function, ast.Raise) and "Raises" not in there:
        missing.append("Raises")
    return missing


class Docstrings(unittest.TestCase):
    maxDiff = None

    def test_docstrings_are_complete(self):
        found = {}
        for module in map(importlib.import_module, MODULES):
            for where, thing in public(module):
                for name, function, doc in functions(where, thing):
                    missing = lacking(function, doc)
                    if missing:
                        found[name] = missing
        self.assertEqual(found, {})


if __name__ == "__main__":
    unittest.main()
