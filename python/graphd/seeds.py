# SPDX-License-Identifier: Apache-2.0
"""Where seeds come from that nobody gave."""
import random
import threading

from .arguments import whole_number
from .errors import InvalidError

_source = random.Random()
_lock = threading.Lock()


def seed(val):
    """Makes everything after it that draws at random the same in every run.

    Loaders and samplers that are made (or called) without a ``seed`` draw theirs one after another
    from a sequence that begins here. Matches ``dgl.seed``.

    Parameters
    ----------
    val : int

    Raises
    ------
    graphd.errors.InvalidError
        If `val` is no whole number.
    """
    val = whole_number(val, "seed")
    with _lock:
        _source.seed(val)


def given_or_next(given):
    """The seed of a call: its argument, or the next."""
    if given is None:
        return next_seed()
    number = whole_number(given, "seed")
    if number < 0:
        raise InvalidError(f"seed {number}: expected 0 or more")
    return number


def next_seed():
    """A fresh seed of 63 bits."""
    with _lock:
        return _source.getrandbits(63)
