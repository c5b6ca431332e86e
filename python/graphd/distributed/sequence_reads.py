# SPDX-License-Identifier: Apache-2.0
"""The refusal of ``torch.as_tensor(t)`` where PyTorch would read a DistTensor row by row.

PyTorch before 2.6 takes no DLPack capsules in this function, as later versions do. Instead, it
reads every object that can be indexed as a sequence: it requests each row by itself, and fails if
rows have several elements. The tensor can't distinguish such a read from others. But PyTorch first
asks for ``__cuda_array_interface__`` and for the items of its shape, so these can raise an error.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..errors import InvalidError


class _Shape:
    """A shape that raises an error when it is read."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _: int) -> int:
        raise InvalidError(
            f"{self._tensor!r}: its rows are on servers, and this version of PyTorch would read them "
            "one by one; t[:] reads all rows into a tensor, and t[ids] some"
        )


class _Capsule:
    """An object that only has a DLPack capsule, of an empty tensor."""

    def __dlpack__(self, **options: Any) -> Any:
        import torch

        return torch.empty(0).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU


@functools.lru_cache(maxsize=1)
def _takes_capsules() -> bool:
    """Returns whether ``torch.as_tensor`` takes DLPack capsules."""
    import torch

    try:
        torch.as_tensor(_Capsule())
    except (RuntimeError, TypeError, ValueError):
        return False
    return True


def refusal(tensor: Any) -> dict[str, Any]:
    """Returns the value of a tensor's ``__cuda_array_interface__``.

    Parameters
    ----------
    tensor : DistTensor

    Returns
    -------
    dict

    Raises
    ------
    AttributeError
        If PyTorch is not in use, or takes capsules.
    """
    if "torch" not in sys.modules or _takes_capsules():
        raise AttributeError("__cuda_array_interface__")
    return {"shape": _Shape(tensor)}
