# SPDX-License-Identifier: Apache-2.0
"""The engine of the simulation: a clock with events, processor cores, threads and ports of a network."""

from __future__ import annotations

import collections
import heapq
from collections.abc import Callable, Generator, Iterable
from typing import Any


class Event:
    """Something that happens once, and that processes wait for."""

    __slots__ = ("happened", "waiting")

    def __init__(self) -> None:
        self.happened = False
        self.waiting: list[Callable[[], None]] = []

    def trigger(self) -> None:
        self.happened = True
        waiting, self.waiting = self.waiting, []
        for resume in waiting:
            resume()

    def then(self, action: Callable[[], None]) -> None:
        """Calls the action when the event happens, or now if it has happened."""
        if self.happened:
            action()
        else:
            self.waiting.append(action)


Process = Generator[Event, None, None]


class Clock:
    """The simulated time, and what is going to happen. Events of the same time keep their order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._stopped = False

    def at(self, time: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (time, self._count, action))

    def after(self, seconds: float) -> Event:
        event = Event()
        self.at(self.now + seconds, event.trigger)
        return event

    def start(self, process: Process) -> Event:
        """Runs a process, which yields the events it waits for; returns the event of its end."""
        end = Event()

        def resume() -> None:
            for event in process:
                if not event.happened:
                    event.waiting.append(resume)
                    return
            end.trigger()

        resume()
        return end

    def stop(self) -> None:
        self._stopped = True

    def run(self) -> None:
        """Lets time pass until stop() is called or nothing is left to happen."""
        while self._heap and not self._stopped:
            self.now, _, action = heapq.heappop(self._heap)
            action()


def all_of(events: Iterable[Event]) -> Event:
    """Returns the event that happens with the last of several."""
    joined = Event()
    left = [event for event in events if not event.happened]
    if not left:
        joined.happened = True
        return joined
    count = len(left)

    def one() -> None:
        nonlocal count
        count -= 1
        if count == 0:
            joined.trigger()

    for event in left:
        event.waiting.append(one)
    return joined


class Cores:
    """The processor cores of a machine, which all runnable tasks share evenly (processor sharing). A
    task uses at most one core."""

    def __init__(self, clock: Clock, count: int) -> None:
        self.clock = clock
        self.count = count
        self.busy_seconds = 0.0  # of one core
        self._served = 0.0  # processor time that a task would have had if it was always there
        self._updated = 0.0
        self._tasks: list[tuple[float, int, Event]] = []
        self._numbered = 0
        self._version = 0

    def run(self, seconds: float) -> Event:
        """Starts a task that needs so much processor time; returns the event of its end."""
        done = Event()
        if seconds <= 0:
            done.happened = True
            return done
        self._advance()
        self._numbered += 1
        heapq.heappush(self._tasks, (self._served + seconds, self._numbered, done))
        self._plan()
        return done

    def _speed(self) -> float:
        return min(1.0, self.count / len(self._tasks)) if self._tasks else 0.0

    def _advance(self) -> None:
        passed = self.clock.now - self._updated
        self._served += passed * self._speed()
        self.busy_seconds += passed * min(len(self._tasks), self.count)
        self._updated = self.clock.now

    def _plan(self) -> None:
        self._version += 1
        if not self._tasks:
            return
        version = self._version
        left = max(0.0, self._tasks[0][0] - self._served)

        def next_end() -> None:
            if version == self._version:
                self._end()

        self.clock.at(self.clock.now + left / self._speed(), next_end)

    def _end(self) -> None:
        self._advance()
        ended = [heapq.heappop(self._tasks)]
        self._served = max(self._served, ended[0][0])
        while self._tasks and self._tasks[0][0] <= self._served:
            ended.append(heapq.heappop(self._tasks))
        self._plan()
        for _, _, done in ended:
            done.trigger()


class Thread:
    """A thread that does one piece of work after the other, on shared cores."""

    def __init__(self, cores: Cores) -> None:
        self.cores = cores
        self._queue: collections.deque[tuple[float, Event]] = collections.deque()
        self._running = False

    def run(self, seconds: float) -> Event:
        done = Event()
        self._queue.append((seconds, done))
        if not self._running:
            self._next()
        return done

    def _next(self) -> None:
        while self._queue:
            seconds, done = self._queue.popleft()
            work = self.cores.run(seconds)
            if not work.happened:
                self._running = True
                work.then(lambda done=done: self._ended(done))  # type: ignore[misc]
                return
            done.trigger()

    def _ended(self, done: Event) -> None:
        self._running = False
        done.trigger()
        if not self._running:
            self._next()


class Port:
    """One direction of a network interface. The flows that have something to send share it evenly by
    bytes, chunk by chunk (start-time fair queueing). A flow that had nothing to send for a while comes
    first, so that short messages do not wait for long ones, as with fq_codel."""

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        self.clock = clock
        self.rate = bytes_per_second
        self.busy_seconds = 0.0
        self._tags: dict[Any, float] = {}  # bytes up to which each flow has had its share
        self._now = 0.0  # the tag of the chunk that is being sent
        self._chunks: list[tuple[float, int, float, Event]] = []
        self._numbered = 0
        self._busy = False

    def send(self, flow: Any, size: float) -> Event:
        """Queues a chunk behind the earlier ones of its flow; returns the event of its end."""
        sent = Event()
        tag = max(self._now, self._tags.get(flow, 0.0))
        self._tags[flow] = tag + size
        self._numbered += 1
        heapq.heappush(self._chunks, (tag, self._numbered, size, sent))
        if not self._busy:
            self._next()
        return sent

    def _next(self) -> None:
        self._busy = bool(self._chunks)
        if not self._busy:
            return
        self._now, _, size, sent = heapq.heappop(self._chunks)
        seconds = size / self.rate
        self.busy_seconds += seconds

        def ended() -> None:
            sent.trigger()
            self._next()

        self.clock.at(self.clock.now + seconds, ended)
