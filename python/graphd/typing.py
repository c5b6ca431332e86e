# SPDX-License-Identifier: Apache-2.0
"""Names for the types of arguments and results, for annotations only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Union

Tensor = Any  # a torch.Tensor or a numpy.ndarray
Ids = Any  # an int, a sequence of ints, or a one-dimensional int64 tensor of either library
Triple = tuple[str, str, str]  # a canonical edge type: source type, relation, destination type
EdgeType = Union[str, Triple]
NodeIds = Union[Ids, Mapping[str, Ids]]  # a mapping has ids by node type
EdgeIds = Union[Ids, Mapping[EdgeType, Ids]]  # a mapping has ids by edge type
Fanout = Union[int, Mapping[EdgeType, int]]
FeatureNames = Union[str, Sequence[str], Mapping[Any, Union[str, Sequence[str]]], None]
Path = Union[str, PathLike[str]]
