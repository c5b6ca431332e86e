#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Connects to a server again and again until SIGTERM comes, in four ways: to its Unix socket, to its
TCP port, as `graphctl ps` does, and as a trainer of a new job does. Prints how often, and the longest
wait of each; exits with 1 if any attempt has failed, with what it said."""
import argparse
import json
import signal
import socket
import subprocess
import sys
import threading
import time

import graphd

PAUSE = 0.01  # lets others have the processors, and keeps waiting connections from filling a queue


class Attempts:
    """A way to connect, which a thread of its own repeats."""

    def __init__(self, name, attempt):
        self.name, self.attempt = name, attempt
        self.count, self.longest, self.failures = 0, 0.0, []

    def repeat(self, stopping):
        while not stopping.is_set():
            begin = time.monotonic()
            try:
                self.attempt()
            except Exception as error:
                self.failures.append(f"{self.name}: {type(error).__name__}: {error}")
            self.count += 1
            self.longest = max(self.longest, time.monotonic() - begin)
            time.sleep(PAUSE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server_name", required=True)
    parser.add_argument("--ip_config", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--port", type=int, required=True, help="of TCP, on 127.0.0.1")
    args = parser.parse_args()

    def to_unix():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(args.socket)

    def to_tcp():
        socket.create_connection(("127.0.0.1", args.port), 30).close()

    def ps():
        command = ["graphctl", "ps", "--json", "--server_name", args.server_name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        found = [each.get("status", {}) for each in json.loads(done.stdout or "[]")]
        # The next process may answer that it loads, for some milliseconds.
        expected = 5 if [each.get("state") for each in found] == ["loading"] else 0
        if done.returncode != expected or [each.get("server_name") for each in found] != [
                args.server_name]:
            raise RuntimeError(f"code {done.returncode}: {done.stdout}{done.stderr}"[:300])

    def attach():
        with graphd.connect(ip_config=args.ip_config, server_name=args.server_name) as session:
            session.graph().num_nodes()

    ways = [Attempts("unix", to_unix), Attempts("tcp", to_tcp), Attempts("graphctl ps", ps),
            Attempts("trainer", attach)]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threads = [threading.Thread(target=way.repeat, args=(stopping,)) for way in ways]
    for thread in threads:
        thread.start()
    while not stopping.wait(0.1):
        pass
    for thread in threads:
        thread.join()
    print(", ".join(f"{way.name} {way.count} times, at most {way.longest * 1000:.0f} ms"
                    for way in ways))
    failures = [text for way in ways for text in way.failures]
    print("\n".join(failures[:20]))
    return 1 if failures or any(way.count < 10 for way in ways) else 0


if __name__ == "__main__":
    sys.exit(main())
