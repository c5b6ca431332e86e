# SPDX-License-Identifier: Apache-2.0
"""Data of nodes or edges by name, some of it made when it is first asked for."""
from collections.abc import MutableMapping

_NOTHING = {}


class Frame(MutableMapping):
    """A dict of tensors, some of which are made when they are asked for.

    What makes them must not refer to whatever refers to the frame: batches are large, and have to
    go with the last reference, not when the garbage collector comes by.

    Parameters
    ----------
    makers : dict of str to callable
        ``makers[name](source)`` is called once, when the name is read. Not changed, and so may be
        that of many frames.
    source
        What data are made of, a batch.
    made : dict of str to tensor, optional
        What is there.
    """

    __slots__ = ("_makers", "_source", "_made")

    def __init__(self, makers=_NOTHING, source=None, made=None):
        self._makers, self._source, self._made = makers, source, {} if made is None else made

    def lazy(self, name, make, of=None):
        """From now on the name stands for what ``make()`` returns, or ``make(frame[of])``."""
        self._made.pop(name, None)
        self._makers = {**self._makers, name: _Own(make, of)}

    def __getitem__(self, name):
        made = self._made
        if name in made:
            return made[name]
        make = self._makers.get(name)
        if make is None:
            raise KeyError(f"no data {name!r}; there are {sorted(self)}")
        value = make.made_in(self) if type(make) is _Own else make(self._source)
        made[name] = value
        return value

    def __setitem__(self, name, value):
        self._made[name] = value

    def __delitem__(self, name):
        if name not in self:
            raise KeyError(name)
        self._made.pop(name, None)
        self._makers = {other: make for other, make in self._makers.items() if other != name}

    def __contains__(self, name):
        return name in self._made or name in self._makers

    def __iter__(self):
        yield from self._makers
        yield from [name for name in self._made if name not in self._makers]

    def __len__(self):
        return len(self._made.keys() | self._makers.keys())

    def __repr__(self):
        return f"Frame({sorted(self)})"


class _Own:
    """Makes data of one frame alone, maybe of other data of it."""

    def __init__(self, make, of):
        self._make, self._of = make, of

    def made_in(self, frame):
        return self._make() if self._of is None else self._make(frame[self._of])


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
