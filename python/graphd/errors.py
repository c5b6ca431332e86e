# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions.

Every error of graphd is a `GraphdError` with a `code` that does not change between versions, and a
message that names what is concerned and ends with what to do. Where Python has an exception for the
same thing, the subclass is one of those too, so that ``except TimeoutError`` works.
"""


class GraphdError(Exception):
    """The base of all of them.

    Attributes
    ----------
    code : str
        "invalid", "not_found", "exists", "unavailable", "overloaded", "deadline", "version",
        "corrupt", "denied", "io" or "internal": as `graphctl`'s exit codes are named.
    remedy : str
        What to do about it: the last clause of the message; empty if there is none.
    """

    code = "internal"

    def __str__(self):  # KeyError would show its argument's repr
        return str(self.args[0]) if self.args else ""

    @property
    def remedy(self):
        return str(self).rpartition("; ")[2] if "; " in str(self) else ""


class InvalidError(GraphdError, ValueError):
    """An argument, option or id that makes no sense."""

    code = "invalid"


class NotFoundError(GraphdError, KeyError):
    """A name, file or partition that does not exist."""

    code = "not_found"


class ExistsError(GraphdError):
    """Something that must not exist does."""

    code = "exists"


class UnavailableError(GraphdError, ConnectionError):
    """A server that can't be reached, or has gone."""

    code = "unavailable"


class OverloadedError(GraphdError):
    """A limit was reached: try again later, or raise the limit."""

    code = "overloaded"


class DeadlineError(GraphdError, TimeoutError):
    """It took longer than allowed."""

    code = "deadline"


class VersionError(GraphdError):
    """Two sides that don't speak the same version."""

    code = "version"


class CorruptError(GraphdError):
    """Data that contradicts itself or its checksum."""

    code = "corrupt"


class DeniedError(GraphdError, PermissionError):
    """No permission."""

    code = "denied"


class IoError(GraphdError, OSError):
    """The operating system said no."""

    code = "io"


class InternalError(GraphdError, RuntimeError):
    """A defect of graphd."""


_BY_CODE = {each.code: each for each in (
    InvalidError, NotFoundError, ExistsError, UnavailableError, OverloadedError, DeadlineError,
    VersionError, CorruptError, DeniedError, IoError, InternalError)}


def error_of(code, message):
    """The exception of a code. Called by the extension module."""
    return _BY_CODE.get(code, InternalError)(message)


def whole_number(value, what):
    """`value` as an int. Raises InvalidError where that would change it, or takes over 63 bits."""
    import operator

    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or abs(number) >> 63:
        raise InvalidError(f"{what} {value!r}: expected a whole number, of 63 bits at most")
    return number


def whole_number_in(value, what, first, last):
    """`value` as an int of first..last."""
    number = whole_number(value, what)
    if not first <= number <= last:
        raise InvalidError(f"{what} {number}: expected {first} to {last}")
    return number


def finite(value, what, expected="a number"):
    """`value` as a float."""
    import math

    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return number


def not_negative(value, what):
    """`value` as a float, finite and 0 or more."""
    number = finite(value, what, "a number, 0 or more")
    if number < 0:
        raise InvalidError(f"{what} {value!r}: expected a number, 0 or more")
    return number


def one_of(value, what, choices):
    """`value`, if it is among them."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidError(f"{what} {value!r}: use {', '.join(map(repr, choices[:-1]))} or "
                           f"{choices[-1]!r}")
    return value


FORMS = ("uv", "eid", "all")  # of edges()


def text(value, what, expected="a str"):
    """`value`, if it is a str."""
    if not isinstance(value, str):
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return value


def path(value, what, expected):
    """`value` as a str, if it is a path."""
    import os

    try:
        given = os.fsdecode(value)
    except TypeError:
        given = ""
    if not given:
        raise InvalidError(f"{what} {value!r}: expected {expected}")
    return given


_PART_CONFIG = "the path of a part config, as 'parts/mine.json', which partition_graph returns"


def part_config_path(value):
    """A part config's path as a str; with servers it need not be there."""
    return path(value, "part_config", _PART_CONFIG)


def part_config_file(value):
    """The path of one that exists."""
    import os

    given = part_config_path(value)
    if not os.path.exists(given):
        raise NotFoundError(f"part_config {given!r} does not exist; expected {_PART_CONFIG}")
    return given


def draws(count, each, what):
    """Refuses what would have to draw so much that memory ends before it does."""
    if each > 0 and count * each > _MOST_DRAWS:
        raise InvalidError(f"{what} {each} for {count} seeds: {count * each} draws at once, of "
                           f"{_MOST_DRAWS} at most; take a smaller {what}, or fewer seeds")


_MOST_DRAWS = 1 << 27  # 2 GiB of neighbours and their edges' ids
