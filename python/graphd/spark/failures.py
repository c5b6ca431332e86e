# SPDX-License-Identifier: Apache-2.0
"""The errors that tasks of Spark raise, as the driver gets them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from .. import errors

# The last line of a traceback. An empty line or the stack of Java follows it.
_RAISED = re.compile(r"^graphd\.errors\.(\w+): (.*?)\s*(?=\n\s*\n|\n\s+at |\Z)", re.M | re.S)


def error_in(text: str) -> errors.GraphdError | None:
    """Returns the error of graphd whose traceback a text has, or None."""
    found = _RAISED.findall(text)
    if not found:
        return None
    name, message = found[-1]
    of_name = getattr(errors, name, None)
    if not (isinstance(of_name, type) and issubclass(of_name, errors.GraphdError)):
        return None
    return of_name(message)


@contextlib.contextmanager
def of_tasks() -> Iterator[None]:
    """Replaces Spark's exception for a task that has raised an error of graphd by this error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as failure:
        error = error_in(str(failure))
        if error is None:
            raise
        raise error from failure
