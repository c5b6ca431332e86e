# SPDX-License-Identifier: Apache-2.0
"""Fits service times to measured processor times."""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = Any  # an array of float64


def non_negative(counts: Numbers, seconds: Numbers) -> Numbers:
    """Returns the times >= 0 for which counts @ times is nearest to seconds, by relative error (the
    algorithm of Lawson and Hanson)."""
    wanted = np.ones(len(seconds))
    matrix = counts / seconds[:, None]
    scale = np.sqrt((matrix**2).sum(0))
    scale[scale == 0] = 1
    matrix = matrix / scale
    x = np.zeros(matrix.shape[1])
    used = np.zeros(len(x), bool)
    for _ in range(10 * len(x)):
        slope = matrix.T @ (wanted - matrix @ x)
        slope[used] = -np.inf
        best = int(slope.argmax())
        if slope[best] <= 1e-10:
            break
        used[best] = True
        while True:
            trial = np.zeros(len(x))
            trial[used] = np.linalg.lstsq(matrix[:, used], wanted, rcond=None)[0]
            if (trial[used] > 0).all():
                x = trial
                break
            falling = used & (trial <= 0)
            step = (x[falling] / np.maximum(x[falling] - trial[falling], 1e-300)).min()
            x = x + step * (trial - x)
            used &= x > 1e-15
            x[~used] = 0
    return x / scale
