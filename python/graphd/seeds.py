# SPDX-License-Identifier: Apache-2.0
"""The seeds of calls without a ``seed`` argument."""

from __future__ import annotations

import os
import random
import threading

from .arguments import whole_number
from .errors import InvalidError

_source = random.Random()
_lock = threading.Lock()


def seed(val: int) -> None:
    """Makes all random draws from now on the same in every run.

    Loaders and samplers that are made or called without a ``seed`` take one from a common sequence,
    which this call restarts. Matches ``dgl.seed``.

    Parameters
    ----------
    val : int

    Raises
    ------
    graphd.errors.InvalidError
        If `val` is not a whole number.
    """
    val = whole_number(val, "seed")
    with _lock:
        _source.seed(val)


def given_or_next(given: int | None) -> int:
    """Returns the seed of a call: its argument, or the next of the sequence."""
    if given is None:
        return next_seed()
    number = whole_number(given, "seed")
    if number < 0:
        raise InvalidError(f"seed {number}: expected 0 or more")
    return number


def next_seed() -> int:
    """Returns the next seed of the sequence, of 63 bits."""
    with _lock:
        return _source.getrandbits(63)


def _renew_lock() -> None:
    """Gives a forked child a lock of its own: a thread that held it does not exist there."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
