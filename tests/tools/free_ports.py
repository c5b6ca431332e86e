#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Finds TCP ports for servers of tests.

The ports lie below the range that the system gives to clients. A port of that range can become a
client's at any moment before a server listens there, and while a killed server is started again.

Usage: free_ports.py COUNT      prints the ports in one line
"""

import random
import socket
import sys

CLIENT_PORTS = "/proc/sys/net/ipv4/ip_local_port_range"


def free_ports(count):
    """Returns `count` different ports on which no process listens."""
    with open(CLIENT_PORTS) as file:
        candidates = range(10000, max(20000, int(file.read().split()[0])))
    found = []
    while len(found) < count:
        port = random.choice(candidates)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1])))
