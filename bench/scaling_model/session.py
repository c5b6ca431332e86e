# SPDX-License-Identifier: Apache-2.0
"""Real daemons and trainers on hosts, and what they take."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from scaling_model.graph import NAME
from scaling_model.hosts import PORT, Hosts, processor_seconds

READY_SECONDS, QUIET, LEAST_BATCHES = 120, 0.1, 5
BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclasses.dataclass
class Observed:
    """The result of a job; all but the rates are per mini-batch of any trainer."""

    batches_per_second: float  # the sum of all trainers
    trainer_seconds: float  # processor time
    daemon_seconds: float  # the sum of all daemons
    variation: float  # standard deviation of the time between a trainer's batches, over its mean
    frontier: list[float]
    edges: list[float]
    local: list[float]
    hit_rate: float
    disturbance: float  # share of the processors' time that other programs used
    cable_seconds: float = 0.0  # processor time of the program that delays frames


def used_seconds() -> float:
    """Returns the processor time that everything on this machine has used."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq = map(int, file.readline().split()[1:8])
    return float(user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def rate_between(ends: list[float], begin: float, end: float) -> float:
    """Returns the batches per second: from the last batch before `begin` to the first after `end`, or
    to the last."""
    first = max((i for i, each in enumerate(ends) if each <= begin), default=0)
    last = next((i for i, each in enumerate(ends) if each >= end), len(ends) - 1)
    if last <= first:
        raise RuntimeError(
            f"a trainer has made {len(ends)} batches in {end - begin:.1f} s: too few"
        )
    return (last - first) / (ends[last] - ends[first])


def least_disturbed(observed: list[Observed]) -> list[Observed]:
    """Returns the repeats in which other programs used little of the processors, or else the one in
    which they used least. The prediction is not looked at."""
    quiet = [each for each in observed if each.disturbance < QUIET]
    return quiet or [min(observed, key=lambda each: each.disturbance)]


class Session:
    """A daemon and a trainer on each host. `transport` "tcp" makes trainers read everything by TCP."""

    def __init__(
        self,
        hosts: Hosts,
        part_config: str,
        build: str,
        transport: str = "auto",
        row_cache: str = "",
    ) -> None:
        self.hosts, self.part_config, self.build = hosts, part_config, build
        self.transport, self.row_cache = transport, row_cache
        self.daemons: list[subprocess.Popen[Any]] = []
        self.trainers: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Session:
        self.folder = tempfile.mkdtemp(prefix="graphd-scaling-")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.trainers, *self.daemons]:
            process.kill()
        for process in [*self.trainers, *self.daemons]:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def environment(self, number: int) -> dict[str, str]:
        python = os.path.join(self.build, "python")
        found = dict(
            os.environ,
            GRAPHD_SERVER_NAME=NAME,
            GRAPHD_IP_CONFIG=self.path("ip_config.txt"),
            GRAPHD_RUNTIME_DIR=self.path(f"run-{number}"),
            GRAPHD_STATE_DIR=self.path(f"state-{number}"),
            GRAPHD_TRANSPORT=self.transport,
            GRAPHD_JOB_ID="scaling",
            GRAPHD_JOB_SECRET="scaling-0123456789abcdef",
            RANK=str(number),
            WORLD_SIZE=str(self.hosts.count),
            PYTHONPATH=os.pathsep.join([python, BENCH]),
            PYTHONDONTWRITEBYTECODE="1",
            OMP_NUM_THREADS="1",
        )
        if self.row_cache:
            found["GRAPHD_ROW_CACHE"] = self.row_cache
        return found

    def start(self) -> None:
        with open(self.path("ip_config.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"{address} {PORT}\n" for address in self.hosts.addresses)
        for number in range(self.hosts.count):
            command = [
                *(os.path.join(self.build, "bin", "graphd"), "--server_name", NAME),
                *("--part_config", self.part_config, "--part_id", str(number)),
                *("--listen", f"{self.hosts.addresses[number]}:{PORT}", "--insecure"),
            ]
            with open(self.path(f"daemon-{number}.log"), "w", encoding="utf-8") as log:
                self.daemons.append(
                    self.hosts.start(
                        number, command, env=self.environment(number), stdout=log, stderr=log
                    )
                )
        for number in range(self.hosts.count):
            self.await_daemon(number)
        for number in range(self.hosts.count):
            command = [sys.executable, "-m", "scaling_model.trainer", str(number)]
            with open(self.path(f"trainer-{number}.log"), "w", encoding="utf-8") as log:
                self.trainers.append(
                    self.hosts.start(number, command, env=self.environment(number), text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
                )  # fmt: skip

    def said(self, name: str) -> str:
        with open(self.path(name + ".log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-800:]

    def await_daemon(self, number: int) -> None:
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and self.daemons[number].poll() is None:
            if "serving" in self.said(f"daemon-{number}"):
                return
            time.sleep(0.01)
        raise RuntimeError(f"daemon {number} is not ready: {self.said(f'daemon-{number}')}")

    def ask(self, number: int, line: object) -> None:
        stream = self.trainers[number].stdin
        assert stream
        stream.write(json.dumps(line) + "\n")
        stream.flush()

    def answer(self, number: int) -> Any:
        stream = self.trainers[number].stdout
        assert stream
        line = stream.readline()
        if not line:
            raise RuntimeError(f"trainer {number} has ended: {self.said(f'trainer-{number}')}")
        return json.loads(line)

    def taken(self) -> list[float]:
        """Returns the processor time of trainers, of daemons, of the cable, and of this machine."""
        return [
            sum(processor_seconds(each.pid) for each in self.trainers),
            sum(processor_seconds(each.pid) for each in self.daemons),
            self.hosts.cable_seconds(),
            used_seconds(),
        ]

    def measure(self, job: dict[str, Any], seconds: float, warm: int = 8) -> Observed:
        """Runs a job on all trainers at the same time."""
        everyone = range(self.hosts.count)
        for number in everyone:
            self.ask(number, {"workers": 0, "compute": 0.0, "warm": warm, **job})
        found = [self.answer(number) for number in everyone]
        begin = time.monotonic() + 0.2
        end = begin + max(seconds, LEAST_BATCHES * max(each["step"] for each in found))
        for number in everyone:
            self.ask(number, end)
        time.sleep(max(0.0, begin - time.monotonic()))
        before, started = self.taken(), time.monotonic()
        time.sleep(max(0.0, end - time.monotonic()))
        after, stopped = self.taken(), time.monotonic()
        results = [self.answer(number) for number in everyone]
        rate = sum(rate_between(each["ends"], started, stopped) for each in results)
        done = rate * (stopped - started)
        trainer, daemon, cable, used = (b - a for a, b in zip(before, after))
        others = max(0.0, used - trainer - daemon - cable)
        times = [b - a for each in results for a, b in zip(each["ends"], each["ends"][1:])]
        hits = sum(each["cache"]["hits"] for each in results)
        looked_up = hits + sum(each["cache"]["misses"] for each in results)
        return Observed(
            rate,
            trainer / done,
            daemon / done,
            statistics.pstdev(times) / statistics.mean(times) if len(times) > 1 else 0.0,
            [statistics.mean(each) for each in zip(*(one["frontier"] for one in found))],
            [statistics.mean(each) for each in zip(*(one["edges"] for one in found))],
            [statistics.mean(each) for each in zip(*(one["local"] for one in found))],
            hits / looked_up if looked_up else 0.0,
            others / (stopped - started) / (os.cpu_count() or 1),
            cable / done,
        )


def described(build: str, part_config: str, fanouts: list[int], batch_size: int) -> dict[str, Any]:
    """Returns the profile of a graph's mini-batches, and the share of their edges that leave the
    partition of the node they were sampled for. It needs no server."""
    python = os.path.join(build, "python")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([python, BENCH]))
    command = [sys.executable, "-m", "scaling_model.describe", part_config, str(batch_size)]
    done = subprocess.run(
        [*command, *map(str, fanouts)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{part_config} can't be sampled: {done.stderr.strip()[-800:]}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
