# SPDX-License-Identifier: Apache-2.0
"""First values that the servers compute: a function of the seed and the row's id, so that they do
not depend on partitions, nor on when a row is first touched."""
from ..arguments import finite, whole_number


class Initializer:
    """The base of all of them."""

    kind, a, b, seed = "constant", 0.0, 0.0, 0

    def fields(self):
        """For the extension module.

        Returns
        -------
        kind, a, b, seed
        """
        return self.kind, float(self.a), float(self.b), int(self.seed)


class Constant(Initializer):
    """The same value everywhere.

    Parameters
    ----------
    value : float
    """

    def __init__(self, value):
        self.a = finite(value, "value")


class Uniform(Initializer):
    """Uniform in [low, high).

    Parameters
    ----------
    low, high : float
    seed : int
    """

    kind = "uniform"

    def __init__(self, low=-1.0, high=1.0, seed=0):
        self.a, self.b = finite(low, "low"), finite(high, "high")
        self.seed = whole_number(seed, "seed")


class Normal(Initializer):
    """Normal with this mean and standard deviation.

    Parameters
    ----------
    mean, std : float
    seed : int
    """

    kind = "normal"

    def __init__(self, mean=0.0, std=1.0, seed=0):
        self.a, self.b = finite(mean, "mean"), finite(std, "std")
        self.seed = whole_number(seed, "seed")
