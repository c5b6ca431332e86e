# SPDX-License-Identifier: Apache-2.0
"""Progress bars for work that takes more than two seconds.

The bars are made by tqdm; without tqdm there are none. They appear in notebooks and where standard
error is a terminal, unless the environment variable GRAPHD_PROGRESS is 0.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

_SECONDS = 2.0  # before a bar appears
_INTERVAL = 0.5  # seconds between two changes of a clock
_thread = threading.local()  # has_clock: whether the thread is in the body of a clock
MANY = 1 << 16  # items of a call that may take long, such as nodes to walk from

Step = TypeVar("Step", covariant=True)


class Steps(Protocol[Step]):
    """A list or a loader: something with a length that can be iterated over."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Step]: ...


def bar(steps: Steps[Step], description: str) -> Iterator[Step]:
    """Yields the steps, and shows how many of them are done once they take two seconds.

    Parameters
    ----------
    steps : list or loader
    description : str
        The text before the bar.
    """
    with counter(len(steps), description) as show:
        for done, step in enumerate(steps):
            show(done)
            yield step
        show(len(steps))


@contextlib.contextmanager
def counter(total: int | None, description: str) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes how many of `total` steps are done, and shows it once they take
    two seconds.

    Parameters
    ----------
    total : int or None
        None if it is not known.
    description : str
        The text before the bar.
    """
    begin, is_due, shown = time.monotonic(), _wanted(), None

    def show(done: int) -> None:
        nonlocal is_due, shown
        if is_due and time.monotonic() - begin >= _SECONDS:
            is_due = False
            shown = _made(total=total, initial=done, desc=description)
        elif shown is not None:
            shown.update(done - shown.n)

    try:
        yield show
    finally:
        if shown is not None:
            shown.close()


@contextlib.contextmanager
def clock(description: str) -> Iterator[None]:
    """Shows how long the body of a ``with`` statement takes, once it has taken two seconds. Use it
    for calls that do not report their progress. A clock inside another clock is not shown.

    Parameters
    ----------
    description : str
        The text before the time.
    """
    if getattr(_thread, "has_clock", False) or not _wanted():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(
        target=_tick, args=(description, ended), name="graphd-progress", daemon=True
    )
    thread.start()
    _thread.has_clock = True
    try:
        yield
    finally:
        _thread.has_clock = False
        ended.set()
        thread.join()


class Calls:
    """The calls of an object, some of which take long: the first call of each kind, which may build
    an index on the servers, and calls with many items. Only these have a clock, because a clock needs
    a thread."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def clock(
        self, description: str, num_items: int = 0
    ) -> contextlib.AbstractContextManager[None]:
        """Returns a context that shows how long a call takes, if it may take long.

        Parameters
        ----------
        description : str
            The kind of call: the text before the time.
        num_items : int
            The number of nodes or edges that the call handles.
        """
        if description in self._seen and num_items < MANY:
            return contextlib.nullcontext()
        self._seen.add(description)
        return clock(description)


@contextlib.contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """Yields a function that takes the step of a task, how much of the step is done, and the total.
    A bar per step is shown once the task takes two seconds. A total of 0 means that the total is
    not known and that the amount done is a number of seconds."""
    begin, is_due, shown, current = time.monotonic(), _wanted(), None, ""

    def show(step: str, done: int, total: int) -> None:
        nonlocal is_due, shown, current
        if not is_due or time.monotonic() - begin < _SECONDS:
            return
        if shown is None or step != current:
            if shown is not None:
                shown.close()
            unit = "B" if step == "writing partitions" else ""
            form = (
                {"total": total, "unit": unit, "unit_scale": True}
                if total
                else {"bar_format": "{desc}: {n} s"}
            )
            shown, current = _made(desc=step, **form), step
            is_due = shown is not None
        if shown is not None:
            shown.update(done - shown.n)

    try:
        yield show
    finally:
        if shown is not None:
            shown.close()


def _tick(description: str, ended: threading.Event) -> None:
    begin = time.monotonic()
    if ended.wait(_SECONDS):
        return
    shown = _made(bar_format="{desc}")
    if shown is None:
        return
    with shown:
        while True:
            shown.set_description_str(f"{description}: {time.monotonic() - begin:.0f} s")
            if ended.wait(_INTERVAL):
                return


def _wanted() -> bool:
    """Returns whether somebody looks at the output and has not switched bars off."""
    return os.environ.get("GRAPHD_PROGRESS") != "0" and (_in_notebook() or _on_terminal())


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    return shell is not None and "IPKernelApp" in shell.config


def _made(**options: Any) -> Any:
    """Returns a bar of tqdm that disappears at its end, or None where tqdm is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm warns if a notebook has no ipywidgets
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(leave=False, **options)
