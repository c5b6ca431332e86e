# SPDX-License-Identifier: Apache-2.0
"""The directory of a run that is not complete."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterator

from ..errors import ExistsError, GraphdError

# The name of a file in each of these directories. The file contains one of the states, and the run
# holds a lock on it.
MARKER = "graphd-spark-run"
_RUNNING = "running\n"
_UNLOCKED = "running, where files have no locks\n"
_PUBLISHING = "moves the partitions to their places\n"
_FINISHED = "finished\n"


class Staging:
    """The directory of a run beside the partitions, for as long as the context lasts.

    A run makes its directory, with a file that it locks, before it looks for the directories of
    other runs. Therefore, if two runs begin at the same time, at least one of them sees the other
    and ends. Directories of killed runs of the same graph are removed. The directory of a run that
    goes on is left alone. So is the directory of a run that failed while it moved partitions,
    because it may have the only copies of these partitions.

    Parameters
    ----------
    output, graph_name : str
    force : bool
        Whether to remove what a failed run has left, too.

    Attributes
    ----------
    path : str

    Raises
    ------
    graphd.errors.ExistsError
        On entering, if another run writes the graph, or has left partitions and `force` is False.
    """

    def __init__(self, output: str, graph_name: str, force: bool) -> None:
        self._output, self._begin, self._force = output, f"{graph_name}.spark-", force
        self.path = os.path.join(output, self._begin + uuid.uuid4().hex[:12])
        self._lock = -1
        self._keep = False

    def __enter__(self) -> Staging:
        os.makedirs(self.path)
        marker = os.path.join(self.path, MARKER)
        self._lock = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            self._set(_RUNNING if _locked(self._lock) else _UNLOCKED)
            self._remove_others()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _remove_others(self) -> None:
        """Removes the directories of other runs of the graph, or raises ExistsError."""
        for name in os.listdir(self._output):
            other = os.path.join(self._output, name)
            if (
                other != self.path
                and re.fullmatch(re.escape(self._begin) + "[0-9a-f]{12}", name)
                and _is_ours(other)
            ):
                _remove_ended(other, self._force)

    def __exit__(self, *error: object) -> None:
        if not self._keep:
            with contextlib.suppress(OSError):
                self._set(_FINISHED)
        # On NFS, a file that is open here stays in its directory when it is removed.
        os.close(self._lock)
        if not self._keep:
            # A task that is late may create files meanwhile. The next run removes what remains.
            shutil.rmtree(self.path, ignore_errors=True)

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Keeps the directory if the body of the ``with`` statement fails, because the directory
        may have the only copies of partitions."""
        self._set(_PUBLISHING)
        self._keep = True
        try:
            yield
        except GraphdError as error:
            raise type(error)(
                f"{error}; the partitions that were not moved yet are kept in {self.path}: remove the "
                "cause, and call partition_graph again, with force=True"
            ) from None
        self._keep = False

    def _set(self, state: str) -> None:
        text = state.encode()
        os.pwrite(self._lock, text, 0)
        # The file is truncated after the write, not before, because an empty file means that a run
        # begins.
        os.ftruncate(self._lock, len(text))
        os.fsync(self._lock)  # on NFS, others see it then


def _is_ours(path: str) -> bool:
    marker = os.path.join(path, MARKER)
    return not os.path.islink(path) and os.path.isfile(marker) and not os.path.islink(marker)


def _locked(file: int) -> bool:
    """Locks a file. Returns False if its file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _remove_ended(path: str, force: bool) -> None:
    """Removes the directory of another run, or raises ExistsError."""
    try:
        file = os.open(os.path.join(path, MARKER), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # the run has just ended
    try:
        if not _state(file):
            return  # it has just begun, and will find this run's directory; it may need the lock
        knows = _locked(file)
        state = _state(file)
    except BlockingIOError:
        raise ExistsError(
            f"{path}: another run writes this graph now; wait until it ends, or stop it"
        ) from None
    finally:
        os.close(file)
    if state != _FINISHED and not force:
        if state == _PUBLISHING:
            raise ExistsError(
                f"{path} has partitions of a run that failed while it moved them to their places; give "
                "force=True to remove them and to partition the graph again"
            )
        if not knows or state == _UNLOCKED:
            raise ExistsError(
                f"{path}: another run writes this graph, or was killed; give force=True if none does"
            )
    shutil.rmtree(path, ignore_errors=True)


def _state(file: int) -> str:
    return os.pread(file, 100, 0).decode(errors="replace")
