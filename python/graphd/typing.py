# SPDX-License-Identifier: Apache-2.0
"""What the stubs call things. For type checkers alone."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

Tensor = Any  # torch.Tensor, or numpy.ndarray
Ids = Any  # a one-dimensional int64 tensor of either library, an int, or a sequence of ints
EdgeType = Union[str, "tuple[str, str, str]"]
Features = Union["Sequence[str]", "dict[Any, Sequence[str]]", None]
