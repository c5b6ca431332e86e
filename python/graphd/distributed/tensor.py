# SPDX-License-Identifier: Apache-2.0
"""Tensors whose rows lie with the servers."""
from .. import backend


class DistTensor:
    """A tensor whose rows lie with the partitions. Matches ``dgl.distributed.DistTensor``."""

    def __init__(self, handle, g):
        self.handle, self.g = handle, g

    @property
    def name(self):
        return self.handle.name

    tensor_name = name

    @property
    def shape(self):
        return tuple(self.handle.shape)

    @property
    def dtype(self):
        return backend.dtype_of(self.handle.dtype)

    def __len__(self):
        return self.handle.shape[0]

    def __getitem__(self, rows):
        """Rows by id, in the order asked for: an int64 tensor, a list, a slice, or an int (which
        gives one row, as in DGL with its first extent)."""
        backend.chosen()
        if isinstance(rows, slice):
            begin, end, step = rows.indices(len(self))
            if step == 1:
                return self.handle.slice(begin, max(begin, end))
            return self.handle.read(list(range(begin, end, step)))
        return self.handle.read(rows)

    def __repr__(self):
        return f"DistTensor('{self.name}', shape={self.shape}, dtype={self.handle.dtype})"
