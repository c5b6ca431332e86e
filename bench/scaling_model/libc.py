# SPDX-License-Identifier: Apache-2.0
"""Calls of the C library that Python lacks."""

import ctypes

PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number: int) -> None:
    """Lets this process get a signal when its parent ends."""
    libc.prctl(PR_SET_PDEATHSIG, number)
