# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

from . import DistEmbedding

class SparseSGD:
    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        *,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None: ...
    def step(self) -> None: ...
    def zero_grad(self) -> None: ...
    def wait(self) -> None: ...
    @property
    def lr(self) -> float: ...
    @lr.setter
    def lr(self, value: float) -> None: ...

class SparseAdagrad:
    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        eps: float = 1e-10,
        *,
        row_wise: bool = False,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None: ...
    def step(self) -> None: ...
    def zero_grad(self) -> None: ...
    def wait(self) -> None: ...
    @property
    def lr(self) -> float: ...
    @lr.setter
    def lr(self, value: float) -> None: ...

class SparseAdam:
    def __init__(
        self,
        params: Sequence[DistEmbedding],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        *,
        weight_decay: float = 0.0,
        sum_duplicates: bool = False,
        synchronous: bool = False,
        staleness: int = 0,
    ) -> None: ...
    def step(self) -> None: ...
    def zero_grad(self) -> None: ...
    def wait(self) -> None: ...
    @property
    def lr(self) -> float: ...
    @lr.setter
    def lr(self, value: float) -> None: ...
