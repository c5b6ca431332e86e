#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1,000 connections of a user without rights ask for the status without a pause. Other users are
served meanwhile, and no thread of the daemon counts as hanging. Needs root."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "launch"))
from daemons import ask_ring_server, ring_server, tail
from harness import BIN, SLOW, wait_until

CONNECTIONS = 1000
SECONDS = 15
LONGEST = 2  # seconds that a call of somebody else may take; alone, it takes 0.05
NOBODY = 65534


def main():
    if os.geteuid() != 0:
        raise SystemExit("this test runs clients of another user: run it as root")
    with tempfile.TemporaryDirectory(prefix="graphd-strangers-") as scratch:
        os.chmod(scratch, 0o755)
        with ring_server(scratch) as (daemon, port):
            check(daemon, scratch, port)


def check(daemon, scratch, port):
    def ask():
        """Returns how long the status takes to come."""
        begin = time.monotonic()
        answer = ask_ring_server(scratch)
        assert "status" in answer, answer
        return time.monotonic() - begin

    wait_until("the daemon", lambda: "serving 'ring'" in tail(daemon.log))
    # The build may be in a folder that others may not enter.
    program = shutil.copy(os.path.join(BIN, "..", "tests", "chaos_clients"), scratch)
    crowd = subprocess.Popen(
        [program, "calls", f"127.0.0.1:{port}", str(CONNECTIONS), str(SECONDS), "1"],
        stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[])
    wait_until("the strangers", lambda: daemon.descriptors() > CONNECTIONS)
    times = []
    while crowd.poll() is None:
        times.append(ask())
        time.sleep(0.1)
    made = int(crowd.communicate()[0].split()[0])
    print(f"{made} connections of strangers; {len(times)} calls of another user took {max(times):.2f} s "
          "at most")
    assert max(times) < LONGEST * SLOW, times
    log = tail(daemon.log, 1 << 20)
    assert "has hung" not in log, log
    assert daemon.stop() == 0, "the daemon did not end well"


if __name__ == "__main__":
    main()
