# SPDX-License-Identifier: Apache-2.0
from typing import Any

class Initializer:
    kind: str
    a: float
    b: float
    seed: int
    def fields(self) -> Any: ...

class Constant(Initializer):
    def __init__(self, value: int) -> None: ...

class Uniform(Initializer):
    kind: str
    def __init__(self, low: float = -1.0, high: float = 1.0, seed: int | None = 0) -> None: ...

class Normal(Initializer):
    kind: str
    def __init__(self, mean: float = 0.0, std: float = 1.0, seed: int | None = 0) -> None: ...
