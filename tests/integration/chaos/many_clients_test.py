#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""1,000 clients at once connect to a daemon, attach, call and die, for a while; then the same to a
daemon that has connections for a third of them only, so that some give way to others. Afterwards,
each daemon has as many descriptors as before, no jobs, and about as much memory.

  GRAPHD_BIN_DIR=build/dev/bin tests/integration/chaos/many_clients_test.py --seconds 300
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "launch"))
from daemons import ask_ring_server, ring_server
from harness import BIN, wait_until

CLIENTS = os.path.join(BIN, "..", "tests", "chaos_clients")
TRIM_SECONDS = 100  # a daemon looks for memory to give back at least every minute
MORE_MEMORY = 64  # MiB: buffers that a daemon keeps for the next messages


def run_clients(address, count, seconds, seed):
    return subprocess.Popen([CLIENTS, "short", address, str(count), str(seconds), str(seed)],
                            stdout=subprocess.PIPE, text=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for limits in ([], ["--max_connections", str(options.clients // 3)]):
        with (tempfile.TemporaryDirectory(prefix="graphd-clients-") as scratch,
              ring_server(scratch, *limits) as (daemon, port)):
            check(daemon, scratch, port, options)


def check(daemon, scratch, port, options):
    socket = f"{scratch}/run/ring/{port}.sock"

    def status():
        return ask_ring_server(scratch).get("status")

    wait_until("the daemon", lambda: os.path.exists(socket) and status())

    def has_no_jobs():
        answer = status()  # nothing while the daemon has too many connections
        return answer is not None and answer["jobs"] == []

    # The first clients make the daemon take what it keeps for later ones.
    run_clients(f"127.0.0.1:{port}", 100, 2, options.seed).communicate()
    wait_until("the first clients to be gone", has_no_jobs)
    memory, descriptors = daemon.memory(), daemon.descriptors()
    half = options.clients // 2
    crowds = [run_clients(f"127.0.0.1:{port}", options.clients - half, options.seconds, options.seed),
              run_clients(socket, half, options.seconds, options.seed + 1)]
    most_memory, most_descriptors = memory, descriptors
    while any(crowd.poll() is None for crowd in crowds):
        assert not daemon.ended(), "the daemon has ended"
        most_memory = max(most_memory, daemon.memory())
        most_descriptors = max(most_descriptors, daemon.descriptors())
        time.sleep(0.1)
    made = sum(int(crowd.communicate()[0].split()[0]) for crowd in crowds)
    begin = time.monotonic()
    wait_until("all jobs to have left", has_no_jobs)
    wait_until("the descriptors to be closed", lambda: daemon.descriptors() <= descriptors)
    assert made > options.clients, "too few clients could connect"
    wait_until("the memory to be given back", lambda: daemon.memory() < memory + MORE_MEMORY,
               TRIM_SECONDS)
    print(f"{made} connections in {options.seconds:.0f} s, {options.clients} at once: memory "
          f"{memory:.0f} MiB before, {most_memory:.0f} at most, {daemon.memory():.0f} after; "
          f"descriptors {descriptors} before, {most_descriptors} at most, "
          f"{daemon.descriptors()} after ({time.monotonic() - begin:.1f} s)")
    assert daemon.stop() == 0, "the daemon did not end well"


if __name__ == "__main__":
    main()
