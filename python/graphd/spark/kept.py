# SPDX-License-Identifier: Apache-2.0
"""DataFrames that several steps of a run read."""

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

        while self._frames:
            # A session that was stopped has freed everything. The error that ended the context must
            # not be replaced by an error from here.
            with contextlib.suppress(Py4JError, PySparkException):
                self.free(self._frames[-1])

    def keep(self, frame: Any) -> Any:
        """Returns a DataFrame that is kept from its first use on.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame

        Returns
        -------
        pyspark.sql.DataFrame
        """
        from pyspark import StorageLevel

        self._frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._frames[-1]

    def free(self, frame: Any) -> None:
        """Frees a DataFrame before the context ends.

        Parameters
        ----------
        frame : pyspark.sql.DataFrame
            The result of `keep`.
        """
        self._frames = [each for each in self._frames if each is not frame]
        frame.unpersist()
