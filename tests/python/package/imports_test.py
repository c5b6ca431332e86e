# SPDX-License-Identifier: Apache-2.0
"""Checks that modules of the package do not import each other in a cycle, not even in functions."""

import ast
import graphlib
import pathlib
import unittest

import graphd

FOLDER = pathlib.Path(graphd.__file__).parent


def package_sources():
    """Returns {name: (source, whether it is a package)} of all modules; a stub stands for the
    compiled one."""
    found = {}
    for path in sorted(FOLDER.rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            name = ".".join(("graphd", *path.relative_to(FOLDER).with_suffix("").parts))
            is_package = path.stem == "__init__"
            name = name.removesuffix(".__init__")
            found[name] = (path.read_text(encoding="utf-8"), is_package)
    return found


def prefixes(name):
    """Yields "a", "a.b" and "a.b.c" for "a.b.c": importing the last runs all of them."""
    parts = name.split(".")
    yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def imported(source, package):
    """Yields the absolute names that a module of this package imports, wherever the import is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                parents = package.split(".")
                base = parents[: len(parents) + 1 - node.level] + base
            yield from (".".join([*base, alias.name]) for alias in node.names)


def import_graph(sources):
    """Returns {module: modules that it imports}."""
    graph = {}
    for name, (source, is_package) in sources.items():
        package = name if is_package else name.rpartition(".")[0]
        graph[name] = set()
        for target in imported(source, package):
            if target not in sources:  # a name that a module defines
                target = target.rpartition(".")[0]
                graph[name] |= {target} & sources.keys()
            # A module's own packages are being imported already.
            graph[name] |= set(prefixes(target)) & sources.keys() - set(prefixes(package))
        graph[name].discard(name)
    return graph


def cycle(sources):
    """Returns the modules of a cycle, or []."""
    try:
        graphlib.TopologicalSorter(import_graph(sources)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


class Imports(unittest.TestCase):
    def test_there_is_no_cycle(self):
        sources = package_sources()
        graph = import_graph(sources)
        self.assertIn("graphd._graphd", graph["graphd.graph_base"])
        self.assertIn("graphd.distributed.queries", graph["graphd.distributed.graph"])
        self.assertIn("graphd.distributed", graph["graphd.neighbors"])  # its package
        self.assertEqual(cycle(sources), [])

    def test_cycles_are_found(self):
        for a, b in (
            ("from .q import b", "from ..a import x"),
            ("def f():\n    from .q.b import x", "from .. import a"),
            ("import p.q.b", "if TYPE_CHECKING:\n    import p.a"),
        ):
            with self.subTest(a=a, b=b):
                package = {"p": ("", True), "p.q": ("from . import b", True)}
                self.assertEqual(cycle({**package, "p.a": (a, False), "p.q.b": ("", False)}), [])
                self.assertEqual(cycle({**package, "p.a": ("", False), "p.q.b": (b, False)}), [])
                self.assertNotEqual(cycle({**package, "p.a": (a, False), "p.q.b": (b, False)}), [])
        package = {"p": ("from . import a", True), "p.a": ("from . import x", False)}
        self.assertNotEqual(cycle(package), [])


if __name__ == "__main__":
    unittest.main()
