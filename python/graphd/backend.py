# SPDX-License-Identifier: Apache-2.0
"""Whose tensors graphd returns: PyTorch's where it is installed, NumPy's otherwise.

PyTorch is imported when the first tensor is made, not by ``import graphd``. Arguments may always be
of either kind.
"""
import importlib.util

_chosen = None


def use(library):
    """Chooses the tensors that every function returns from now on.

    Parameters
    ----------
    library : {"torch", "numpy"}
        Without a call it is "torch" where PyTorch is installed.

    Raises
    ------
    graphd.errors.InvalidError
        For another library.
    """
    global _chosen
    from . import _graphd

    if library == "torch":
        import torch
        from torch.utils.dlpack import from_dlpack

        # What it calls in the end, for what are capsules already: a batch is many tensors.
        _graphd.use_tensors_of(getattr(torch._C, "_from_dlpack", from_dlpack), torch.bool)
    elif library == "numpy":
        _graphd.use_tensors_of(None, None)
    else:
        from .errors import InvalidError

        raise InvalidError(f"library {library!r}: use 'torch' or 'numpy'")
    _chosen = library


def chosen():
    """"torch" or "numpy", deciding on it if nobody has."""
    if _chosen is None:
        use("torch" if importlib.util.find_spec("torch") else "numpy")
    return _chosen


def dtype_of(name):
    """The chosen library's dtype of this name."""
    if chosen() == "torch":
        import torch

        return getattr(torch, name)
    import numpy

    return numpy.dtype(name)


def name_of(dtype):
    """"float32" for torch.float32, numpy.float32, numpy.dtype("float32") or "float32"."""
    text = str(dtype)
    if text.startswith("torch."):
        return text[len("torch."):]
    if text == "bfloat16":  # NumPy has none
        return text
    import numpy

    try:
        return numpy.dtype(dtype).name
    except TypeError:
        from .errors import InvalidError

        raise InvalidError(f"dtype {dtype!r}: expected one of torch or numpy, or its name, as "
                           "'float32'") from None


def to_numpy(tensor):
    """Shares the memory of a tensor of either library."""
    import numpy

    return tensor if isinstance(tensor, numpy.ndarray) else tensor.detach().numpy()


def from_numpy(array):
    """A tensor of the chosen library that shares the array's memory."""
    if chosen() == "torch":
        import torch

        return torch.from_numpy(array)
    return array
