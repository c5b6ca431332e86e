#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user without rights does what it can to keep others from a daemon: 1,000 connections ask for the
status without a pause, or take all connections that the daemon may have, or are opened and closed
without a pause. Other users are served meanwhile, and no thread of the daemon counts as hanging.
Needs root."""

import contextlib
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
MOST_CONNECTIONS = 50
NOBODY = 65534
# Takes the port, and how many connections to keep open; opens others instead of those that it loses.
KEEP_OPEN = """
import select, socket, sys
port, count = map(int, sys.argv[1:])
poll, held = select.poll(), {}
while True:
    while len(held) < count:
        one = socket.create_connection(("127.0.0.1", port))
        held[one.fileno()] = one
        poll.register(one, select.POLLIN)
    for number, _ in poll.poll(100):
        poll.unregister(number)
        held.pop(number).close()
"""
# Takes the port. Opens connections from ever other addresses, closes every other one as TCP does and
# resets the others.
OPEN_AND_CLOSE = """
import itertools, socket, struct, sys
for number in itertools.count():
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", number % 2, 0))
        one.bind((f"127.1.{number // 250 % 250}.{number % 250 + 1}", 0))
        one.connect(("127.0.0.1", int(sys.argv[1])))
"""


def as_nobody(*command, **options):
    return subprocess.Popen(command, user=NOBODY, group=NOBODY, extra_groups=[], **options)


@contextlib.contextmanager
def strangers(*command):
    """Runs a program of another user until the end of the block."""
    process = as_nobody(*command)
    try:
        yield
        assert process.poll() is None, "the strangers have ended"
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def server(*options):
    """Yields a daemon, its port and its folder, and then checks that it has worked on."""
    with tempfile.TemporaryDirectory(prefix="graphd-strangers-") as scratch:
        os.chmod(scratch, 0o755)
        with ring_server(scratch, *options) as (daemon, port):
            wait_until("the daemon", lambda: "serving 'ring'" in tail(daemon.log))
            yield daemon, port, scratch
            log = tail(daemon.log, 1 << 20)
            assert "has hung" not in log, log
            assert daemon.stop() == 0, "the daemon did not end well"


def ask(scratch):
    """Returns how long the status takes to come."""
    begin = time.monotonic()
    answer = ask_ring_server(scratch)
    assert "status" in answer, answer
    return time.monotonic() - begin


def report(what, times):
    print(f"{what}; {len(times)} calls of another user took {max(times):.2f} s at most")
    assert max(times) < LONGEST * SLOW, times


def test_calls_without_a_pause():
    with server() as (daemon, port, scratch):
        # The build may be in a folder that others may not enter.
        program = shutil.copy(os.path.join(BIN, "..", "tests", "chaos_clients"), scratch)
        crowd = as_nobody(program, "calls", f"127.0.0.1:{port}", str(CONNECTIONS), str(SECONDS), "1",
                          stdout=subprocess.PIPE, text=True)
        wait_until("the strangers", lambda: daemon.descriptors() > CONNECTIONS)
        times = []
        while crowd.poll() is None:
            times.append(ask(scratch))
            time.sleep(0.1)
        made = int(crowd.communicate()[0].split()[0])
        report(f"{made} connections of strangers", times)


def test_all_connections_are_taken():
    with server("--max_connections", str(MOST_CONNECTIONS)) as (daemon, port, scratch):
        before = daemon.descriptors()
        with strangers("/usr/bin/python3", "-c", KEEP_OPEN, str(port), str(2 * MOST_CONNECTIONS)):
            wait_until("the strangers", lambda: daemon.descriptors() >= before + MOST_CONNECTIONS)
            times = [ask(scratch) for _ in range(20)]
            assert daemon.descriptors() < before + MOST_CONNECTIONS + 10
        report(f"strangers have all {MOST_CONNECTIONS} connections", times)
        log = tail(daemon.log, 1 << 20)
        assert f"closing a connection from uid {NOBODY} that has not attached" in log, log


def test_connections_are_opened_and_closed():
    with server() as (_, port, scratch):
        with (strangers("/usr/bin/python3", "-c", OPEN_AND_CLOSE, str(port)),
              strangers("/usr/bin/python3", "-c", OPEN_AND_CLOSE, str(port))):
            times = [ask(scratch) for _ in range(20)]
        report("strangers open and close connections", times)


def main():
    if os.geteuid() != 0:
        raise SystemExit("this test runs clients of another user: run it as root")
    test_calls_without_a_pause()
    test_all_connections_are_taken()
    test_connections_are_opened_and_closed()


if __name__ == "__main__":
    main()
