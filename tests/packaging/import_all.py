# SPDX-License-Identifier: Apache-2.0
"""Imports every module of the installed package but those that need a library that is not there."""
import importlib
import pkgutil
import sys

import graphd

OTHERS = {"matplotlib", "pandas", "pyspark", "torch", "torch_geometric", "tqdm"}


def lacks_a_library(error):
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name.partition(".")[0] in OTHERS:
            return True
        error = error.__cause__
    return False


def can_be_imported(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        if not lacks_a_library(error):
            raise
        return False
    return True


def main():
    names = [each.name for each in pkgutil.walk_packages(graphd.__path__, "graphd.", lambda name: None)
             if not each.name.endswith(".__main__")]
    imported = [name for name in names if can_be_imported(name)]
    assert {"graphd._graphd", "graphd.distributed", "graphd.sampling"} <= set(imported), imported
    assert len(imported) > 40, imported
    print(f"CPython {sys.version.split()[0]} imports {len(imported)} of {len(names)} modules")


if __name__ == "__main__":
    main()
