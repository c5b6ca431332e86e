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
        """What to do about it, or ""."""
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
    """The exception of a code. Called by the extension module.

    Parameters
    ----------
    code, message : str

    Returns
    -------
    GraphdError
    """
    return _BY_CODE.get(code, InternalError)(message)
