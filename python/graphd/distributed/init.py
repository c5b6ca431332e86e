# SPDX-License-Identifier: Apache-2.0
"""Initial values that the servers compute.

They are a function of the seed and the row's id, so that they depend neither on partitions nor on
when a row is used first.
"""

from __future__ import annotations

from ..arguments import finite, whole_number


class Initializer:
    """The base class of all initialisers."""

    kind = "constant"
    a = 0.0
    b = 0.0
    seed = 0

    def fields(self) -> tuple[str, float, float, int]:
        """Returns the fields for the extension module.

        Returns
        -------
        kind, a, b, seed
        """
        return self.kind, float(self.a), float(self.b), int(self.seed)


class Constant(Initializer):
    """The same value for all elements.

    Parameters
    ----------
    value : float
    """

    def __init__(self, value: float) -> None:
        self.a = finite(value, "value")


class Uniform(Initializer):
    """The uniform distribution over [low, high).

    Parameters
    ----------
    low, high : float
    seed : int
    """

    kind = "uniform"

    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int = 0) -> None:
        self.a, self.b = finite(low, "low"), finite(high, "high")
        self.seed = whole_number(seed, "seed")


class Normal(Initializer):
    """The normal distribution with this mean and standard deviation.

    Parameters
    ----------
    mean, std : float
    seed : int
    """

    kind = "normal"

    def __init__(self, mean: float = 0.0, std: float = 1.0, seed: int = 0) -> None:
        self.a, self.b = finite(mean, "mean"), finite(std, "std")
        self.seed = whole_number(seed, "seed")
