# SPDX-License-Identifier: Apache-2.0
"""Assignment by label propagation within balance constraints."""

from __future__ import annotations

from typing import Any


def assign(
    nodes: Any, edges: Any, num_parts: int, iterations: int, imbalance: float, seed: int
) -> None:
    raise NotImplementedError
