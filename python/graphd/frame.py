# SPDX-License-Identifier: Apache-2.0
"""Data of nodes or edges by name, some of it made when it is first asked for."""
from collections.abc import MutableMapping


class Frame(MutableMapping):
    """A dict of tensors whose entries may be functions that make them.

    The functions must not refer to whatever refers to the frame: batches are large, and have to go
    with the last reference, not when the garbage collector comes by.

    Parameters
    ----------
    makers : dict of str to callable
        Called once each, without arguments, when the name is read.
    """

    def __init__(self, makers=()):
        self._makers = dict(makers)
        self._made = {}

    def lazy(self, name, make, of=None):
        """From now on the name stands for what ``make()`` returns, or ``make(frame[of])``."""
        self._makers[name] = make if of is None else _Of(make, of)

    def __getitem__(self, name):
        if name not in self._made:
            if name not in self._makers:
                raise KeyError(f"no data {name!r}; there are {sorted(self)}")
            make = self._makers[name]
            self._made[name] = make.make(self[make.of]) if isinstance(make, _Of) else make()
        return self._made[name]

    def __setitem__(self, name, value):
        self._made[name] = value

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        self._made.pop(name, None)
        self._makers.pop(name, None)

    def __iter__(self):
        yield from self._made
        yield from (name for name in self._makers if name not in self._made)

    def __len__(self):
        return len(self._made.keys() | self._makers.keys())

    def __repr__(self):
        return f"Frame({sorted(self)})"


class _Of:
    """Makes data of other data of its frame."""

    def __init__(self, make, of):
        self.make, self.of = make, of


class TypedFrame(MutableMapping):
    """Data of several types under one name: ``frame[name]`` is a dict by type."""

    def __init__(self, types, frames):
        self._types = types
        self._frames = frames

    def __getitem__(self, name):
        found = {of: frame[name] for of, frame in zip(self._types, self._frames) if name in frame}
        if not found:
            raise KeyError(f"no data {name!r}; there are {sorted(self)}")
        return found

    def __setitem__(self, name, values):
        for of, frame in zip(self._types, self._frames):
            if of in values:
                frame[name] = values[of]

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        for frame in self._frames:
            frame.pop(name, None)

    def __iter__(self):
        return iter({name for frame in self._frames for name in frame})

    def __len__(self):
        return len({name for frame in self._frames for name in frame})
