# SPDX-License-Identifier: Apache-2.0
"""Tests the package as a whole: the modules that it imports, its names."""

import inspect
import json
import subprocess
import sys
import unittest

import graphd
import graphd.distributed
import graphd.sampling


def python(code):
    """Returns the output of a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


class Package(unittest.TestCase):
    def test_import_loads_few_modules_and_none_of_other_packages(self):
        # The number of modules decides how long an import takes, and unlike the time, it does not
        # depend on the machine's load.
        code = (
            "import sys, json; before = set(sys.modules); import graphd; alone = set(sys.modules); "
            "import graphd.distributed, graphd.sampling, graphd.device; "
            "print(json.dumps([sorted(each - before) for each in (alone, set(sys.modules))]))"
        )
        alone, together = json.loads(python(code))
        self.assertLess(len(alone), 180)
        packages = {name.partition(".")[0] for name in together}
        self.assertEqual(packages - sys.stdlib_module_names, {"graphd"})

    def test_everything_works_without_torch(self):
        code = (
            "import sys; sys.modules['torch'] = None; "  # simulates that torch is not installed
            "import importlib.util as u; find = u.find_spec; "
            "u.find_spec = lambda name: None if name == 'torch' else find(name); "
            "import graphd; from graphd import _graphd, backend; print(backend.chosen())"
        )
        self.assertEqual(python(code), "numpy")

    def test_names_and_values_are_those_of_dgl(self):
        self.assertEqual((graphd.NID, graphd.EID), ("_ID", "_ID"))
        for name in [
            "initialize",
            "exit_client",
            "DistGraph",
            "DistTensor",
            "node_split",
            "edge_split",
            "sample_neighbors",
            "sample_etype_neighbors",
            "in_subgraph",
            "find_edges",
            "DistDataLoader",
            "DistNodeDataLoader",
            "DistEdgeDataLoader",
            "GraphPartitionBook",
        ]:
            self.assertTrue(hasattr(graphd.distributed, name), name)

    def test_every_public_name_has_a_docstring(self):
        for module in (graphd, graphd.distributed, graphd.sampling):
            for name in module.__all__:
                thing = getattr(module, name)
                if callable(thing):
                    self.assertTrue(inspect.getdoc(thing), f"{module.__name__}.{name}")


if __name__ == "__main__":
    unittest.main()
