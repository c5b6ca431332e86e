# SPDX-License-Identifier: Apache-2.0
"""The exceptions of graphd.

Errors that graphd finds are a `GraphdError` with a `code` that does not change between versions. The
message names the thing at fault and ends with a remedy where there is one. Where Python has an
exception for the same condition, the subclass derives from it too, so that ``except TimeoutError``
works.
"""

from __future__ import annotations


class GraphdError(Exception):
    """The base class of all errors of graphd.

    Attributes
    ----------
    code : str
        "invalid", "not_found", "exists", "unavailable", "overloaded", "deadline", "version",
        "corrupt", "denied", "io" or "internal": the names of `graphctl`'s exit codes.
    remedy : str
        The last clause of the message, which says what to do; empty if the message has none.
    """

    code = "internal"

    def __str__(self) -> str:  # KeyError would show the repr of its argument
        return str(self.args[0]) if self.args else ""

    @property
    def remedy(self) -> str:
        """The clause that says what to do about the error, or ""."""
        return str(self).rpartition("; ")[2] if "; " in str(self) else ""


class InvalidError(GraphdError, ValueError):
    """An argument, option or id that is not valid."""

    code = "invalid"


class OutOfRangeError(InvalidError, IndexError):
    """The number of a row that a tensor does not have."""


class NotFoundError(GraphdError, KeyError):
    """A name, file or partition that does not exist."""

    code = "not_found"


class ExistsError(GraphdError):
    """A name or file that exists although it must not."""

    code = "exists"


class UnavailableError(GraphdError, ConnectionError):
    """A server that can't be reached, or has stopped."""

    code = "unavailable"


class OverloadedError(GraphdError):
    """A limit that was reached: try again later, or raise the limit."""

    code = "overloaded"


class DeadlineError(GraphdError, TimeoutError):
    """A call that took longer than allowed."""

    code = "deadline"


class VersionError(GraphdError):
    """Two sides that don't speak the same version."""

    code = "version"


class CorruptError(GraphdError):
    """Data that contradicts itself or its checksum."""

    code = "corrupt"


class DeniedError(GraphdError, PermissionError):
    """An operation that is not permitted."""

    code = "denied"


class IoError(GraphdError, OSError):
    """A failure that the operating system reported."""

    code = "io"


class InternalError(GraphdError, RuntimeError):
    """A defect of graphd."""


_BY_CODE: dict[str, type[GraphdError]] = {
    each.code: each
    for each in (
        InvalidError,
        NotFoundError,
        ExistsError,
        UnavailableError,
        OverloadedError,
        DeadlineError,
        VersionError,
        CorruptError,
        DeniedError,
        IoError,
        InternalError,
    )
}


def error_of(code: str, message: str) -> GraphdError:
    """Makes the exception for a code. The extension module calls it.

    Parameters
    ----------
    code, message : str

    Returns
    -------
    GraphdError
    """
    return _BY_CODE.get(code, InternalError)(message)
