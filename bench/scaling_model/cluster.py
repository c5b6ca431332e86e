# SPDX-License-Identifier: Apache-2.0
"""The simulated cluster: machines with cores, links, a daemon and trainers each."""

from __future__ import annotations

import dataclasses
import random

from scaling_model.events import Clock, Cores, Event, Port, Process, Thread, all_of
from scaling_model.service_times import (
    ServiceTimes,
    answer_counts,
    far_counts,
    local_counts,
    request_counts,
    seconds_of,
    slices,
)
from scaling_model.workload import Message, Round, Workload, messages, rounds, spread

# An Ethernet frame of 1500 bytes has 1448 bytes of TCP's payload, and 14 bytes more that qdiscs count.
PAYLOAD, FRAME = 1448.0, 1514.0
WIRE = 24.0  # preamble, checksum and gap, which a real cable has in addition
ACKNOWLEDGEMENT = 66.0 / 20  # for each frame, in the other direction; receivers join frames
# A message passes a port in pieces, each of which goes on to the next port at once; pieces of other
# messages come in between. The messages of a round to all machines have at most PIECES pieces together.
PIECES, LEAST_PIECE = 64, 4096
MOST_MACHINES = 9  # machines that are simulated one by one


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The cluster that is simulated."""

    machines: int
    cores: int  # cores of a machine, or of all machines together if `shared_cores`
    link_rate: float | None = None  # bits per second in each direction; None: no limit
    latency: float = 0.0  # seconds from one machine to another
    cut: float | None = None  # share of edges between machines; None: that of random placement
    trainers: int = 1  # of a machine
    workers: int = 0  # sampling threads of a trainer; 0: the trainer itself samples
    compute: float = 0.0  # seconds of processor time of a trainer's step after its batch is there
    device: float = 0.0  # seconds of a step in which its trainer waits for a device
    shared_cores: bool = False
    frame_extra: float = 0.0  # bytes of a frame that qdiscs do not count

    @property
    def edge_cut(self) -> float:
        return (self.machines - 1) / self.machines if self.cut is None else self.cut

    def rounds(self, work: Workload) -> list[Round]:
        """Returns the rounds of a mini-batch."""
        profile, shares = spread(work.profile, self.machines, self.edge_cut)
        return rounds(dataclasses.replace(work, profile=profile), self.machines - 1, shares)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of a simulation."""

    batches_per_second: float  # the sum of all trainers
    core_use: float  # share of the cores' time that is used
    link_use: float  # the share of the busier direction, mean of the machines
    batch_seconds: float  # between two batches of a trainer

    @property
    def bottleneck(self) -> str:
        """Returns what limits the rate: "link", "processor", or "trainers" if trainers do one thing
        after the other, so that more workers would help."""
        if self.link_use >= 0.85 and self.link_use >= self.core_use:
            return "link"
        return "processor" if self.core_use >= 0.85 else "trainers"


class Machine:
    def __init__(self, simulation: Simulation, cores: Cores) -> None:
        rate = simulation.cluster.link_rate
        self.cores = cores
        bytes_per_second = float("inf") if rate is None else rate / 8
        self.up = Port(simulation.clock, bytes_per_second)
        self.down = Port(simulation.clock, bytes_per_second)


class Trainer:
    """A trainer: the thread that exchanges messages, and the batches that are done."""

    def __init__(self, machine: int, cores: Cores) -> None:
        self.machine = machine
        self.cores = cores
        self.exchange = Thread(cores)
        self.ends: list[float] = []
        self.started = 0  # batches that workers have begun
        self.taken = 0
        self.made = 0  # batches that wait for the trainer
        self.room: list[Event] = []
        self.ready: list[Event] = []


class Exchange:
    """A request to a machine and its answer, with the processor time that they take."""

    def __init__(self, message: Message, work: Workload, times: ServiceTimes) -> None:
        width = work.row_bytes
        self.message = message
        self.at_trainer = seconds_of(times.trainer, answer_counts(message, width))
        self.at_daemon = seconds_of(times.daemon, request_counts(message, width))
        self.slices = slices(message, width)


class Simulation:
    """Runs all trainers of a cluster for some steps. The same seed gives the same result."""

    def __init__(
        self, cluster: Cluster, work: Workload, times: ServiceTimes, steps: int, seed: int = 1
    ) -> None:
        self.cluster, self.work, self.times, self.steps = cluster, work, times, steps
        self.random = random.Random(seed)
        self.clock = Clock()
        common = Cores(self.clock, cluster.cores)
        # All machines are alike, so that some of them can stand for all.
        count = min(cluster.machines, MOST_MACHINES)
        self.weight = (cluster.machines - 1) / (count - 1) if count > 1 else 1.0
        self.machines = [
            Machine(self, common if cluster.shared_cores else Cores(self.clock, cluster.cores))
            for _ in range(count)
        ]
        self.rounds = cluster.rounds(work)
        self.exchanges = [
            [
                Exchange(message.times(self.weight), work, times)
                for message in messages(work, each.remote)
            ]
            for each in self.rounds
        ]
        self.trainers = [
            Trainer(number, machine.cores)
            for number, machine in enumerate(self.machines)
            for _ in range(cluster.trainers)
        ]
        self.unfinished = len(self.trainers)
        self.pieces = max(4, PIECES // max(1, count - 1))

    def run(self) -> Outcome:
        for trainer in self.trainers:
            self.clock.start(self.life(trainer))
        self.clock.run()
        return self.outcome()

    def outcome(self) -> Outcome:
        skipped = max(1, self.steps // 4)
        begin = max(trainer.ends[skipped - 1] for trainer in self.trainers)
        # All trainers work until the first one has done all of its steps.
        end = min(trainer.ends[self.steps - 1] for trainer in self.trainers)
        rate = sum(rate_of(trainer.ends, begin, end) for trainer in self.trainers)
        every = self.cluster.machines * self.cluster.trainers
        rate *= every / len(self.trainers)
        cores = {id(machine.cores): machine.cores for machine in self.machines}.values()
        now = self.clock.now
        busy = sum(each.busy_seconds for each in cores) / sum(each.count for each in cores)
        links = [max(each.up.busy_seconds, each.down.busy_seconds) for each in self.machines]
        return Outcome(rate, busy / now, sum(links) / len(links) / now, every / rate)

    def life(self, trainer: Trainer) -> Process:
        """Runs a trainer's steps. All trainers begin at the same time, so that they compete at first
        more than later; outcome() does not count the first quarter of their steps."""
        if self.cluster.workers:
            for _ in range(self.cluster.workers):
                self.clock.start(self.worker(trainer))
        number = 0
        while self.unfinished:
            if self.cluster.workers:
                while not trainer.made:
                    arrival = Event()
                    trainer.ready.append(arrival)
                    yield arrival
                trainer.made -= 1
                trainer.taken += 1
                if trainer.room:
                    trainer.room.pop().trigger()
            else:
                yield self.clock.start(self.batch(trainer))
            yield trainer.cores.run(self.cluster.compute)
            if self.cluster.device:
                yield self.clock.after(self.cluster.device)
            trainer.ends.append(self.clock.now)
            number += 1
            if number == self.steps:
                self.unfinished -= 1
                if not self.unfinished:
                    self.clock.stop()

    def worker(self, trainer: Trainer) -> Process:
        """Makes batches ahead, at most two for each worker."""
        while self.unfinished:
            while trainer.started - trainer.taken >= 2 * self.cluster.workers:
                room = Event()
                trainer.room.append(room)
                yield room
            trainer.started += 1
            yield self.clock.start(self.batch(trainer))
            trainer.made += 1
            if trainer.ready:
                trainer.ready.pop().trigger()

    def batch(self, trainer: Trainer) -> Process:
        """Samples a mini-batch and reads its features."""
        times = self.times.trainer
        size = max(0.2, self.random.gauss(1.0, self.times.variation))
        others = [each for each in range(len(self.machines)) if each != trainer.machine]
        yield trainer.cores.run(times.batch)
        for number, each in enumerate(self.rounds):
            self.random.shuffle(others)
            numbering = seconds_of(times, far_counts(each)) * size
            yield trainer.cores.run(times.round + numbering / 2)
            answers = [
                self.clock.start(self.request(trainer, owner, exchange, size))
                for exchange in self.exchanges[number]
                for owner in others
            ]
            seconds = seconds_of(times, local_counts(each, self.work.row_bytes))
            yield trainer.cores.run(seconds * size)
            yield all_of(answers)
            yield trainer.cores.run(numbering / 2)

    def request(self, trainer: Trainer, owner: int, exchange: Exchange, size: float) -> Process:
        there, message = self.machines[owner], exchange.message
        connection = (trainer.machine, id(trainer), owner, message.bulk)
        at_trainer = exchange.at_trainer * size
        fixed = min(self.times.trainer.request * message.count, at_trainer)
        yield trainer.exchange.run(fixed / 2)
        yield self.clock.start(
            self.transfer(trainer.machine, owner, connection, message.asked * size)
        )
        if self.times.wake:
            yield self.clock.after(self.times.wake)
        seconds = exchange.at_daemon * size / exchange.slices
        yield all_of([there.cores.run(seconds) for _ in range(exchange.slices)])
        yield self.clock.start(
            self.transfer(owner, trainer.machine, connection, message.answered * size)
        )
        yield trainer.exchange.run(at_trainer - fixed / 2)

    def transfer(self, source: int, target: int, flow: object, payload: float) -> Process:
        """Sends a message: its chunks pass the sender's port and then the receiver's."""
        if self.cluster.link_rate is None:
            if self.cluster.latency:
                yield self.clock.after(self.cluster.latency)
            return
        size = wire_bytes(payload, self.cluster.frame_extra)
        count = max(1, min(self.pieces, round(size / LEAST_PIECE)))
        arrivals = []
        for _ in range(count):
            arrived = Event()
            self.pass_ports(source, target, flow, size / count, arrived)
            arrivals.append(arrived)
        yield all_of(arrivals)

    def pass_ports(
        self, source: int, target: int, flow: object, size: float, arrived: Event
    ) -> None:
        down = self.machines[target].down

        def received() -> None:
            down.send(flow, size).then(arrived.trigger)

        def sent() -> None:
            self.clock.at(self.clock.now + self.cluster.latency, received)

        self.machines[source].up.send(flow, size).then(sent)


def wire_bytes(payload: float, extra: float) -> float:
    """Returns the bytes that a payload takes on a link, with the acknowledgements of the data that
    flows in the other direction. These are as many as for the payload itself, because every machine
    both asks and answers."""
    frames = payload / PAYLOAD
    return payload + max(1.0, frames) * (FRAME - PAYLOAD + extra) + frames * ACKNOWLEDGEMENT


def rate_of(ends: list[float], begin: float, end: float) -> float:
    """Returns the batches per second between two times; the first and the last are counted in part."""
    if end <= begin:
        return len(ends) / max(ends[-1], 1e-12)

    def done(time: float) -> float:
        before = 0.0
        previous = 0.0
        for each in ends:
            if each > time:
                return before + (time - previous) / (each - previous)
            previous = each
            before += 1
        return before

    return (done(end) - done(begin)) / (end - begin)


def simulate(
    cluster: Cluster, work: Workload, times: ServiceTimes, steps: int = 24, seed: int = 1
) -> Outcome:
    """Returns what a cluster reaches."""
    return Simulation(cluster, work, times, steps, seed).run()
