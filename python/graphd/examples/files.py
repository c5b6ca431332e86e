# SPDX-License-Identifier: Apache-2.0
"""Copies of the files that the package has of docs/ and examples/."""

from __future__ import annotations

import filecmp
import os
import shutil

from ..errors import ExistsError, NotFoundError

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def names() -> list[str]:
    """Returns the names of the files: the tutorial, as a page and as a notebook, and the examples.

    Raises
    ------
    graphd.errors.NotFoundError
        If the package was installed without them.
    """
    if not os.path.isdir(_HERE):
        raise NotFoundError(f"{_HERE} does not exist; install the package again, with its files")
    # pip compiles the examples into a folder beside them.
    return sorted(each.name for each in os.scandir(_HERE) if each.is_file())


def copy_to(folder: str) -> list[str]:
    """Copies the tutorial and the examples to a folder, which is made if it does not exist.

    Parameters
    ----------
    folder : str
        Files of the same names there stay if they are equal.

    Returns
    -------
    list of str
        The paths of the copies.

    Raises
    ------
    graphd.errors.ExistsError
        If the folder has another file of such a name; nothing is copied then.
    """
    copies = {name: os.path.join(folder, name) for name in names()}
    for name, path in copies.items():
        if os.path.lexists(path) and not filecmp.cmp(
            os.path.join(_HERE, name), path, shallow=False
        ):
            raise ExistsError(f"{path} exists and differs; give another folder, or move that file")
    os.makedirs(folder, exist_ok=True)
    for name, path in copies.items():
        if not os.path.exists(path):
            shutil.copyfile(os.path.join(_HERE, name), path)
    return list(copies.values())
