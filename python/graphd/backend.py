# SPDX-License-Identifier: Apache-2.0
"""The choice of the library whose tensors graphd returns: PyTorch if installed, otherwise NumPy.

PyTorch is imported when the first tensor is made, not by ``import graphd``. Arguments may always be
tensors of either library.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from . import _graphd
from .errors import InvalidError
from .typing import Tensor

_chosen: str | None = None


def use(library: str) -> None:
    """Chooses the library whose tensors every function returns from now on.

    Parameters
    ----------
    library : {"torch", "numpy"}
        Without a call it is "torch" where PyTorch is installed.

    Raises
    ------
    graphd.errors.InvalidError
        If `library` is neither of them.
    """
    global _chosen

    if library == "torch":
        import torch
        from torch.utils.dlpack import from_dlpack

        # For capsules, from_dlpack only calls _from_dlpack. Calling _from_dlpack directly saves
        # time, since a batch has many tensors.
        _graphd.use_tensors_of(getattr(torch._C, "_from_dlpack", from_dlpack), torch.bool)
    elif library == "numpy":
        _graphd.use_tensors_of(None, None)
    else:
        raise InvalidError(f"library {library!r}: use 'torch' or 'numpy'")
    _chosen = library


def chosen() -> str:
    """Returns "torch" or "numpy"; makes the default choice if `use` was not called."""
    if _chosen is None:
        use("torch" if importlib.util.find_spec("torch") else "numpy")
    assert _chosen is not None
    return _chosen


def dtype_of(name: str) -> Any:
    """Returns the dtype of this name in the chosen library."""
    if chosen() == "torch":
        import torch

        return getattr(torch, name)
    import numpy

    return numpy.dtype(name)


def name_of(dtype: Any) -> str:
    """Returns "float32" for torch.float32, numpy.float32, numpy.dtype("float32") or "float32"."""
    text = str(dtype)
    if text.startswith("torch."):
        return text[len("torch.") :]
    if text == "bfloat16":  # NumPy does not have this dtype
        return text
    import numpy

    try:
        return str(numpy.dtype(dtype).name)
    except TypeError:
        raise InvalidError(
            f"dtype {dtype!r}: expected one of torch or numpy, or its name, as 'float32'"
        ) from None


def to_numpy(tensor: Tensor) -> Any:
    """Returns a NumPy array that shares the memory of a tensor of either library."""
    import numpy

    return tensor if isinstance(tensor, numpy.ndarray) else tensor.detach().numpy()


def from_numpy(array: Any) -> Tensor:
    """Returns a tensor of the chosen library that shares the array's memory."""
    if chosen() == "torch":
        import torch

        return torch.from_numpy(array)
    return array


def converted(tensor: Tensor) -> Tensor:
    """Returns a tensor of the chosen library that shares the memory of one of either library."""
    if chosen() == "torch":
        import torch

        return torch.as_tensor(tensor)
    return to_numpy(tensor)


def concatenate(tensors: list[Tensor]) -> Tensor:
    """Joins tensors of the chosen library, one at least, along their first dimension."""
    if len(tensors) == 1:
        return tensors[0]
    if chosen() == "torch":
        import torch

        return torch.cat(tensors)
    import numpy

    return numpy.concatenate(tensors)


def on_host(tensor: Any) -> Any:
    """Returns a tensor in host memory, for one on any device. Tensors without data (meta) stay as they
    are, and are refused where they are used."""
    is_there = str(getattr(tensor, "device", "cpu")).startswith(("cpu", "meta"))
    return tensor if is_there else tensor.detach().cpu().contiguous()
