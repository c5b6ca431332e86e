# SPDX-License-Identifier: Apache-2.0
"""Runs measurements in a process of their own, which other work on the machine disturbs less."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable

from scaling_model.libc import end_with_parent

FORWARDED = (signal.SIGINT, signal.SIGTERM)


def run(nice: int, work: Callable[[], int]) -> int:
    """Runs `work` in a child with a priority and a session of its own, and returns its exit code; after
    a signal, 128 plus the signal's number.

    A kernel with autogroups shares processors between sessions first, so the session needs the priority,
    too. The caller's own priority and session stay as they are, so that Ctrl-C still reaches the caller.
    The caller passes signals on to the child, and the child ends if the caller does.
    """
    caller = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = {number: signal.getsignal(number) for number in FORWARDED}
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    child = os.fork()
    if child == 0:
        begin(nice, caller)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        os._exit(code_of(work))

    def forward(number: int, _: object) -> None:
        os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    try:
        _, status = os.waitpid(child, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def begin(nice: int, caller: int) -> None:
    """Gives this process its own session and, if that is allowed, the priority. Makes it end with its
    caller."""
    end_with_parent(signal.SIGTERM)
    if os.getppid() != caller:
        os._exit(1)  # The caller ended before the line above.
    os.setsid()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    with (
        contextlib.suppress(OSError),
        open("/proc/self/autogroup", "w", encoding="utf-8") as file,
    ):
        file.write(str(nice))


def code_of(work: Callable[[], int]) -> int:
    """Runs `work` as a program's main function, and returns its exit code."""
    code = 1
    try:
        code = work()
    except SystemExit as exit_:
        if isinstance(exit_.code, int):
            code = exit_.code
        elif exit_.code is None:
            code = 0
        else:
            print(exit_.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code
