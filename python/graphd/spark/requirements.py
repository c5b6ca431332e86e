# SPDX-License-Identifier: Apache-2.0
"""The libraries that partitioning on Spark needs."""

from __future__ import annotations

import importlib
import re

from ..errors import InvalidError

_LEAST = {"pyspark": (3, 5), "pyarrow": (14, 0), "pandas": (1, 0)}


def check() -> None:
    """Raises ImportError or InvalidError, with the remedy, if a library is missing or too old."""
    for name, least in _LEAST.items():
        wanted = ".".join(map(str, least))
        try:
            version = importlib.import_module(name).__version__
        except ImportError as error:
            raise ImportError(
                f"graphd.spark needs {name} {wanted} or newer ({error}): pip install "
                f"'{name}>={wanted}', here and on the machines of Spark"
            ) from None
        if tuple(map(int, re.findall(r"\d+", version)[:2])) < least:
            raise InvalidError(f"graphd.spark needs {name} {wanted} or newer, found {version}")
