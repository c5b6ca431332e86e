# SPDX-License-Identifier: Apache-2.0
"""A control group that limits the memory of one process."""

import contextlib
import os
import time


class MemoryLimit:
    """A group of the kernel's memory controller, of version 1 or 2. Needs root."""

    def __init__(self, name):
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            parent, self._limit, self._used, self._events, self._none = (
                "/sys/fs/cgroup", "memory.max", "memory.current", "memory.events", "max")
        else:
            parent, self._limit, self._used, self._events, self._none = (
                "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                "memory.oom_control", "-1")
        self._folder = f"{parent}/{name}"
        os.mkdir(self._folder)
        if not os.path.exists(f"{self._folder}/{self._limit}"):
            os.rmdir(self._folder)
            raise SystemExit(f"--memory needs the memory controller in {parent}: enable it in "
                             "cgroup.subtree_control")
        self._kills = 0

    def _write(self, name, value):
        with open(f"{self._folder}/{name}", "w") as out:
            out.write(str(value))

    def add(self, pid):
        self._write("cgroup.procs", pid)

    def leave_only(self, more):
        """Limits the memory to what is in use and some bytes more."""
        with open(f"{self._folder}/{self._used}") as file:
            used = int(file.read())
        # Version 1 refuses a limit that has been exceeded meanwhile.
        with contextlib.suppress(OSError):
            self._write(self._limit, used + more)

    def lift(self):
        self._write(self._limit, self._none)

    def has_killed(self):
        """Returns whether the kernel has killed the process for lack of memory since the last call."""
        with open(f"{self._folder}/{self._events}") as file:
            kills = int(dict(line.split() for line in file)["oom_kill"])
        before, self._kills = self._kills, kills
        return kills > before

    def remove(self):
        """Removes the group. Its process must have been ended, but may still be ending."""
        end = time.monotonic() + 30
        while True:
            try:
                return os.rmdir(self._folder)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
