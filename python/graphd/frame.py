# SPDX-License-Identifier: Apache-2.0
"""Mappings from names to the data of nodes or edges, some of which are made on first access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from .errors import InvalidError
from .html import table
from .typing import Tensor

Maker = Callable[[Any], Tensor]


class _LazyValue:
    """A function that makes data of one frame, possibly from other data of this frame."""

    def __init__(self, make: Callable[..., Tensor], of: str | None) -> None:
        self._make, self._of = make, of

    @property
    def is_made_on_access(self) -> bool:
        """Whether the data are made on access only, from other data of the frame."""
        return self._of is not None

    def made_in(self, frame: Frame) -> Tensor:
        return self._make() if self._of is None else self._make(frame[self._of])


_NO_MAKERS: Mapping[str, Maker | _LazyValue] = {}


class Described(MutableMapping[str, Any]):
    """A mapping from names to tensors that notebooks show as a table."""

    __slots__ = ()

    def rows(self) -> list[tuple[str, str, str]]:
        """Returns name, dtype and shape of each tensor, without making it.

        Returns
        -------
        list of (str, str, str)
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return table("", ("name", "dtype", "shape"), self.rows())


class Frame(Described):
    """A mapping from names to tensors, some of which are made on first access.

    The makers must not refer to anything that refers to the frame. Batches are large, and have to
    be freed with their last reference, not by the garbage collector.

    Parameters
    ----------
    makers : dict of str to callable
        ``makers[name](source)`` is called once, on first access to the name. The dict is never
        changed, so that many frames may share it.
    source
        The argument of the makers: a batch.
    made : dict of str to tensor, optional
        Data that exist from the start.
    """

    __slots__ = ("_made", "_makers", "_source")

    def __init__(
        self,
        makers: Mapping[str, Maker | _LazyValue] = _NO_MAKERS,
        source: Any = None,
        made: dict[str, Tensor] | None = None,
    ) -> None:
        self._makers, self._source = makers, source
        self._made: dict[str, Tensor] = {} if made is None else made

    def lazy(self, name: str, make: Callable[..., Tensor], of: str | None = None) -> None:
        """Sets a name to the result of ``make()`` or, if `of` is given, of ``make(frame[of])``,
        which is called on first access."""
        self._made.pop(name, None)
        self._makers = {**self._makers, name: _LazyValue(make, of)}

    def fixed(self) -> list[str]:
        """Returns the names of the data that can't change later, because they are in the batch or
        were made already. Data that are read by ids on first access can change until then."""
        makers = self._makers
        return [
            name
            for name in self
            if name in self._made
            or not (isinstance(make := makers.get(name), _LazyValue) and make.is_made_on_access)
        ]

    def __getitem__(self, name: str) -> Tensor:
        made = self._made
        if name in made:
            return made[name]
        make = self._makers.get(name)
        if make is None:
            raise KeyError(f"no data {name!r}; there are {sorted(self)}")
        value = make.made_in(self) if isinstance(make, _LazyValue) else make(self._source)
        made[name] = value
        return value

    def __setitem__(self, name: str, value: Tensor) -> None:
        self._made[name] = value

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._made.pop(name, None)
        self._makers = {other: make for other, make in self._makers.items() if other != name}

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._makers

    def __iter__(self) -> Iterator[str]:
        yield from self._makers
        yield from [name for name in self._made if name not in self._makers]

    def __len__(self) -> int:
        return len(self._made.keys() | self._makers.keys())

    def __repr__(self) -> str:
        return f"Frame({sorted(self)})"

    def rows(self) -> list[tuple[str, str, str]]:
        """See `Described.rows`."""
        return [(name, *_kind(self._made.get(name))) for name in self]


def _kind(value: Any) -> tuple[str, str]:
    """Returns dtype and shape of a value, or "" and a remark if it is None."""
    if value is None:
        return "", "made on first use"
    return str(getattr(value, "dtype", "")), str(tuple(getattr(value, "shape", ())))


class TypedFrame(MutableMapping[str, Any]):
    """The data of several types: ``frame[name]`` is a dict by type."""

    def __init__(self, types: Sequence[Any], frames: Sequence[Described]) -> None:
        self._types = types
        self._frames = frames

    def __getitem__(self, name: str) -> dict[Any, Tensor]:
        found = {of: frame[name] for of, frame in zip(self._types, self._frames) if name in frame}
        if not found:
            raise KeyError(f"no data {name!r}; there are {sorted(self)}")
        return found

    def __setitem__(self, name: str, values: Mapping[Any, Tensor]) -> None:
        if not isinstance(values, Mapping) or not set(values) <= set(self._types):
            given = list(values) if isinstance(values, Mapping) else type(values)
            raise InvalidError(
                f"data {name!r}: expected a dict by type, got {given}; there are "
                f"{list(self._types)}"
            )
        for of, frame in zip(self._types, self._frames):
            if of in values:
                frame[name] = values[of]

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        for frame in self._frames:
            frame.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter({name for frame in self._frames for name in frame})

    def __len__(self) -> int:
        return len({name for frame in self._frames for name in frame})

    def __repr__(self) -> str:
        by_type = {of: sorted(frame) for of, frame in zip(self._types, self._frames)}
        return f"{type(self).__name__}({by_type})"

    def _repr_html_(self) -> str:
        rows = [(of, *row) for of, frame in zip(self._types, self._frames) for row in frame.rows()]
        return table("", ("type", "name", "dtype", "shape"), rows)


def frame_of(types: Sequence[Any], frames: Sequence[Described]) -> MutableMapping[str, Any]:
    """Returns the only frame, or for several types a `TypedFrame`."""
    return frames[0] if len(frames) == 1 else TypedFrame(types, frames)


def moved(frame: Frame, device: Any, made: dict[str, Tensor] | None = None) -> Frame:
    """Returns the data on another device. Each tensor is moved on first access, unless `made` has
    it already."""

    def mover(name: str) -> Maker:
        return lambda source: source[name].to(device)

    return Frame({name: mover(name) for name in frame}, frame, made)
