# SPDX-License-Identifier: Apache-2.0
"""Where seeds come from that nobody gave."""
import random
import threading

_source = random.Random()
_lock = threading.Lock()


def seed(value):
    """Makes everything after it that draws at random the same in every run.

    Loaders and samplers that are made (or called) without a ``seed`` draw theirs one after another
    from a sequence that begins here. Matches ``dgl.seed``.

    Parameters
    ----------
    value : int
    """
    with _lock:
        _source.seed(value)


def next_seed():
    """A fresh seed of 63 bits."""
    with _lock:
        return _source.getrandbits(63)
