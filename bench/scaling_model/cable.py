# SPDX-License-Identifier: Apache-2.0
"""Cables with a delay, for kernels without netem.

    python3 -m scaling_model.cable BRIDGE_NAMESPACE SECONDS NAMESPACE...

makes an interface eth0 in each namespace, and p0, p1, ... in that of the bridge, and passes frames
between the two of each pair after a delay. Large segments stay whole, as between veth interfaces. It
prints "ready" when the interfaces are there, and ends when it is killed or its parent ends.
"""

from __future__ import annotations

import collections
import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
import time

from scaling_model.libc import end_with_parent, libc

TUNSETIFF, TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
OFFLOADS = 0x01 | 0x02 | 0x04  # checksums and segmentation of TCP over IPv4 and IPv6
CLONE_NEWNET = 0x40000000
HEADER, FRAME = 12, 65_536 + 100
MOST_AT_ONCE = 64


def enter(namespace: str) -> None:
    with open(f"/run/netns/{namespace}", encoding="utf-8") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            error = ctypes.get_errno()
            raise OSError(error, f"setns to {namespace}: {os.strerror(error)}")


def tap(namespace: str, name: str) -> int:
    """Makes an interface in a namespace; returns the descriptor that has its frames."""
    enter(namespace)
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(descriptor, TUNSETVNETHDRSZ, struct.pack("i", HEADER))
    fcntl.ioctl(descriptor, TUNSETOFFLOAD, OFFLOADS)
    return descriptor


def carry(ends: dict[int, int], delay: float) -> None:
    """Passes frames from each descriptor to its other end, for ever."""
    readable = list(ends)
    waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        # The timeout of epoll counts milliseconds, which is too coarse.
        found, _, _ = select.select(readable, [], [], left)
        for descriptor in found:
            for _ in range(MOST_AT_ONCE):
                try:
                    frame = os.read(descriptor, FRAME)
                except BlockingIOError:
                    break
                waiting.append((time.monotonic() + delay, ends[descriptor], frame))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, target, frame = waiting.popleft()
            try:
                os.write(target, frame)
            except OSError:
                continue  # An interface that is down or full drops frames, as hardware does.


def main() -> None:
    end_with_parent(signal.SIGKILL)
    # Frames have to pass on time even while daemons and trainers use all processors. A process of a
    # real-time class is scheduled before such ordinary processes.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    bridge, delay, names = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    ends: dict[int, int] = {}
    for number, name in enumerate(names):
        there, here = tap(name, "eth0"), tap(bridge, f"p{number}")
        ends[there], ends[here] = here, there
    print("ready", flush=True)
    carry(ends, delay)


if __name__ == "__main__":
    main()
