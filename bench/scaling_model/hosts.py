# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces, whose links a bridge joins and tc shapes. It needs root.

Each host has an interface eth0. The qdisc htb limits the rate of both directions: at eth0 for what
leaves the host, and at the bridge's end of the link for what comes in. It has a queue for each peer and
direction of requests. The queues share the link evenly, as flows do with Debian's fq_codel. If the
kernel has netem, that delays what leaves a host; otherwise a cable does (scaling_model.cable).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from typing import Any

PORT = 30050  # the port of all daemons
SCHEDULER_CLOCK = 2  # CPUCLOCK_SCHED of the kernel: nanoseconds that the scheduler counts
# A segment of TCP passes a limit as a whole, and only the next segment waits for the time that it takes.
# With segments of the usual 64 KiB, the last 64 KiB of each message would take no time. Segments are
# therefore shorter: no longer than the link sends in TIMER_SECONDS, and at most MOST_FRAMES, also
# without a limit.
MOST_FRAMES, FRAME_BYTES = 11, 1448
QUANTUM = MOST_FRAMES * FRAME_BYTES  # bytes of a queue's turn
TIMER_SECONDS = 1e-4
QUEUE = 4 << 20  # bytes that wait in a queue before packets are dropped
# The model assumes that TCP's windows never limit the rate, which holds for these algorithms when
# nothing is lost. The kernel lets network namespaces choose only those of
# net.ipv4.tcp_allowed_congestion_control.
ALGORITHMS = ("cubic", "reno")


class HostsError(RuntimeError):
    """Hosts can't be made here."""


def run(*words: str) -> None:
    """Runs a command such as ip or tc."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostsError(f"{' '.join(words)}: {done.stderr.strip() or 'failed'}")


def has_netem() -> bool:
    """Returns whether this kernel can delay packets by a qdisc."""
    name = f"gs{os.getpid()}-probe"
    run("ip", "netns", "add", name)
    try:
        run("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
    except HostsError:
        return False
    finally:
        run("ip", "netns", "del", name)
    return True


def congestion_control(namespace: str) -> str:
    """Sets the first of ALGORITHMS that is allowed in a namespace, and returns it."""
    name = "net.ipv4.tcp_congestion_control"
    for algorithm in ALGORITHMS:
        with contextlib.suppress(HostsError):
            run("ip", "netns", "exec", namespace, "sysctl", "-qw", f"{name}={algorithm}")
            return algorithm
    raise HostsError(
        f"none of {', '.join(ALGORITHMS)} is allowed in a network namespace; add one to "
        "net.ipv4.tcp_allowed_congestion_control with sysctl"
    )


class Hosts:
    """Some hosts. `rate` is that of each link in bits per second, None without a limit, and `delay`
    the seconds from one host to another."""

    def __init__(self, count: int, rate: float | None = None, delay: float = 0.0) -> None:
        if os.geteuid() != 0:
            raise HostsError("network namespaces take root; run it with sudo")
        self.count, self.rate, self.delay = count, rate, delay
        self.prefix = f"gs{os.getpid()}-"
        self.bridge = self.prefix + "net"
        self.names = [f"{self.prefix}{number}" for number in range(count)]
        self.addresses = [f"10.98.0.{number + 1}" for number in range(count)]
        self.cable: subprocess.Popen[bytes] | None = None
        self.algorithm = ""  # TCP's congestion control, when the hosts are there

    def __enter__(self) -> Hosts:
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.cable:
            self.cable.kill()
            self.cable.wait()
        for name in [*self.names, self.bridge]:
            with contextlib.suppress(HostsError):
                run("ip", "netns", "del", name)

    def build(self) -> None:
        cable = self.delay > 0 and not has_netem()
        run("ip", "netns", "add", self.bridge)
        run("ip", "-n", self.bridge, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.bridge, "link", "set", "br0", "up")
        for name in self.names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
            self.algorithm = congestion_control(name)
        if cable:
            self.lay_cable()
        for number in range(self.count):
            self.plug(number, cable)

    def frames(self) -> int:
        """Returns the number of frames of the longest segments."""
        if self.rate is None:
            return MOST_FRAMES
        return min(MOST_FRAMES, max(1, round(self.rate / 8 * TIMER_SECONDS / FRAME_BYTES)))

    def lay_cable(self) -> None:
        """Starts the program that delays, which makes both interfaces of each link."""
        self.cable = subprocess.Popen(
            [sys.executable, "-m", "scaling_model.cable", self.bridge, str(self.delay / 2),
             *self.names],
            cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.cable.stdout
        if self.cable.stdout.readline() != b"ready\n":
            raise HostsError("the cable between hosts has failed (its error is above)")

    def plug(self, number: int, cable: bool) -> None:
        name, port = self.names[number], f"p{number}"
        if not cable:
            run("ip", "link", "add", "name", port, "netns", self.bridge, "type", "veth", "peer",
               "name", "eth0", "netns", name)  # fmt: skip
        for namespace, device in ((self.bridge, port), (name, "eth0")):
            run("ip", "-n", namespace, "link", "set", device, "gso_max_segs", str(self.frames()))
        run("ip", "-n", self.bridge, "link", "set", port, "master", "br0", "up")
        run("ip", "-n", name, "addr", "add", self.addresses[number] + "/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        netem = self.delay > 0 and not cable
        if netem:
            run("tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "netem",
               "delay", f"{self.delay * 1e6:.0f}us", "limit", "100000")  # fmt: skip
        if self.rate is not None:
            peers = [address for i, address in enumerate(self.addresses) if i != number]
            self.shape(name, "eth0", "1:1" if netem else None, "dst", peers)
            self.shape(self.bridge, port, None, "src", peers)

    def shape(self, name: str, device: str, parent: str | None, end: str, peers: list[str]) -> None:
        """Limits what passes a device to the link's rate."""

        def tc(*words: str) -> None:
            kind, verb, *rest = words
            run("tc", "-n", name, kind, verb, "dev", device, *rest)

        handle = "2:"
        tc("qdisc", "add", *(["parent", parent] if parent else ["root"]), "handle", handle, "htb")
        full = f"{self.rate:.0f}bit"
        # After a pause, a link may send this many bytes at once, as few as the kernel's timers allow.
        most = str(max(3000, round((self.rate or 0) / 8 * TIMER_SECONDS)))
        burst = ["burst", most, "cburst", most, "quantum", str(QUANTUM)]
        tc("class", "add", "parent", handle, "classid", "2:1", "htb", "rate", full, "ceil", full,
           *burst)  # fmt: skip
        flows = [(peer, port) for peer in peers for port in ("sport", "dport")]
        share = f"{(self.rate or 0) / len(flows):.0f}bit"
        for i, (peer, port) in enumerate(flows):
            leaf = f"2:{i + 16:x}"
            tc("class", "add", "parent", "2:1", "classid", leaf, "htb", "rate", share, "ceil", full,
               *burst)  # fmt: skip
            tc("qdisc", "add", "parent", leaf, "bfifo", "limit", str(QUEUE))
            tc("filter", "add", "parent", handle, "protocol", "ip", "u32", "match", "ip", end,
               f"{peer}/32", "match", "ip", port, str(PORT), "0xffff", "flowid", leaf)  # fmt: skip

    def cable_seconds(self) -> float:
        """Returns the processor time of the program that delays frames."""
        return processor_seconds(self.cable.pid) if self.cable else 0.0

    def start(self, number: int, command: list[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a program on a host."""
        enter = ["nsenter", f"--net=/run/netns/{self.names[number]}"]
        return subprocess.Popen([*enter, *command], **options)


def processor_seconds(pid: int) -> float:
    """Returns the processor time of a process and all of its threads."""
    # The number of the clock of another process, as clock_getcpuclockid(3) makes it; Python lacks that.
    return time.clock_gettime((~pid << 3) | SCHEDULER_CLOCK)
