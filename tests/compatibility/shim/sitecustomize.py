# SPDX-License-Identifier: Apache-2.0
"""Lets ``import dgl`` and ``import torch_geometric`` give the libraries with graphd in them.

Python imports this module when it starts, also in the processes that a test spawns, because the
folder is on PYTHONPATH. See `graphd_as_dgl` and `graphd_as_pyg`."""

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing.process
import os
import sys
import traceback


class _Module(importlib.abc.Loader):
    """Loads a module that the shim makes."""

    def __init__(self, make):
        self._make = make

    def create_module(self, spec):
        return self._make(spec.name)

    def exec_module(self, module):
        pass


class _Then(importlib.abc.Loader):
    """Loads a library's own module between two calls of the shim."""

    def __init__(self, loader, before, after):
        self._loader, self._before, self._after = loader, before, after

    def create_module(self, spec):
        self._before()
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "dgl" or name.startswith(("dgl.distributed", "dgl.graphbolt")):
            return self._dgl(name, path)
        if name == "torch_geometric.loader":
            import graphd_as_pyg

            return self._then(name, path, lambda: None, graphd_as_pyg.change_loaders)
        if name == "torch_geometric.testing":
            import graphd_as_pyg

            return self._then(name, path, lambda: None, graphd_as_pyg.change_testing)
        return None

    def _dgl(self, name, path):
        import graphd_as_dgl

        if name == "dgl":
            return self._then(name, path, graphd_as_dgl.prepare, graphd_as_dgl.change)
        spec = importlib.machinery.ModuleSpec(name, _Module(graphd_as_dgl.module))
        spec.submodule_search_locations = []
        return spec

    def _then(self, name, path, before, after):
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _Then(spec.loader, before, after)
        return spec


def _with_failures(bootstrap):
    """Notes child processes that fail: many tests of DGL do not look at their exit codes."""

    def run(self, *args, **kwargs):
        code = bootstrap(self, *args, **kwargs)
        if "graphd_as_dgl" in sys.modules:
            try:
                sys.modules["graphd_as_dgl"].leave()
            except Exception:
                traceback.print_exc()
                code = code or 1
        if code:
            with open(os.environ["GRAPHD_CHILDREN"], "a", encoding="utf-8") as file:
                file.write(f"{self.name} ended with {code}\n")
        return code

    return run


if os.environ.get("GRAPHD_CHILDREN"):
    sys.meta_path.insert(0, _Finder())
    base = multiprocessing.process.BaseProcess
    base._bootstrap = _with_failures(base._bootstrap)
