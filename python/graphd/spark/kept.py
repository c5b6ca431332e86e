# SPDX-License-Identifier: Apache-2.0
"""The DataFrames that several steps read."""

from __future__ import annotations

import contextlib
from typing import Any


class KeptFrames:
    """DataFrames that are computed once, at their first use, and kept on the disks of the machines until
    they are freed, at the latest when the context ends."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    def __enter__(self) -> KeptFrames:
        return self

    def __exit__(self, *error: object) -> None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        # A session that was stopped has freed everything, and its error is not to be replaced.
        with contextlib.suppress(Py4JError, PySparkException):
            while self._frames:
                self.free(self._frames[-1])

    def keep(self, frame: Any) -> Any:
        from pyspark import StorageLevel

        self._frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._frames[-1]

    def free(self, frame: Any) -> None:
        self._frames = [each for each in self._frames if each is not frame]
        frame.unpersist()
