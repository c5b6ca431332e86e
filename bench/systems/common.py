# SPDX-License-Identifier: Apache-2.0
"""The common part of the measurements: the job that bench/compare gives, clocks, seeds and results.

A module of a system calls run(MEASURES). Its process gets a job as JSON in its last argument:
"graph" (the folder of systems.graph), "measures" (names in MEASURES) and "seconds" (the time of a
repetition). Each result is a line of JSON on standard output.
"""

import contextlib
import itertools
import json
import os
import re
import statistics
import sys
import time
import traceback

import numpy as np

from systems.rows import EMBEDDING_ROWS, EMBEDDING_STEPS

REPETITIONS = 3
FANOUTS = {"sample_2": ([10, 25], 1000), "sample_3": ([15, 10, 5], 1024)}
ROWS = 100_000
HIDDEN, WARM_UP_BATCHES, PREPARED_BATCHES = 16, 20, 40
LEARNING_RATE = 0.003
# The stream of results. Libraries print to standard output, too.
RESULTS = os.fdopen(os.dup(1), "w")


class Job:
    """The job of a process, and the arrays of the graph, which are loaded when they are first used."""

    def __init__(self, text):
        self.options = json.loads(text)
        self.folder = self.options["graph"]
        self.seconds = self.options["seconds"]
        with open(os.path.join(self.folder, "graph.json"), encoding="utf-8") as file:
            self.shape = json.load(file)
        self.nodes, self.edges = self.shape["nodes"], self.shape["edges"]

    def tensor(self, name):
        import torch

        return torch.from_numpy(np.load(os.path.join(self.folder, name + ".npy")))


def emit(name, **result):
    print(json.dumps({"measure": name, **result}), file=RESULTS, flush=True)


def run(measures):
    """Runs the measures of the job: each is a function of the job that yields results, (name, value).
    An error is a result, too."""
    import torch

    torch.set_num_threads(1)
    os.dup2(2, 1)
    job = Job(sys.argv[-1])
    for name in job.options["measures"]:
        try:
            for found, value in measures[name](job):
                emit(found, value=value)
        except Exception as error:
            traceback.print_exc()
            last = str(error).strip().split("\n")[-1][-600:]
            # The last line of an error that a worker process passed on has the type of it.
            named = last if re.match(r"\w+Error: ", last) else f"{type(error).__name__}: {last}"
            emit(name, error=named)


def batches(ids, size, seed=1):
    """Yields batches of ids in random order without end; every system gets the same."""
    draw = np.random.default_rng(seed)
    while True:
        order = ids[draw.permutation(len(ids))]
        for begin in range(0, max(1, len(ids) - size + 1), size):
            yield order[begin : begin + size]


def seconds_of(act):
    """Returns the seconds that a call takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def rate(job, step, warm_up=3):
    """Calls step() repeatedly; returns what it returns per second, the median of the repetitions."""
    for _ in range(warm_up):
        step()
    found = []
    for _ in range(REPETITIONS):
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < job.seconds:
            done += step()
        found.append(done / (time.perf_counter() - begin))
    return statistics.median(found)


def sampling_rate(job, name, ids, sample):
    """Returns the sampled edges per second of sample(seeds, fanouts), which returns their number."""
    fanouts, size = FANOUTS[name]
    seeds = batches(ids, size)
    return rate(job, lambda: sample(next(seeds), fanouts))


def row_rate(job, read, begin=0):
    """Returns the rows per second of read(ids), for random ids of nodes from `begin` on."""
    import torch

    draw = np.random.default_rng(1)
    ids = [torch.from_numpy(draw.integers(begin, job.nodes, ROWS)) for _ in range(8)]
    turn = itertools.cycle(ids)

    def step():
        rows = read(next(turn))
        assert len(rows) == ROWS
        return ROWS

    return rate(job, step)


def loader_rate(job, loader):
    """Returns the batches per second of a loader: of its second epoch, or the first seconds of it.
    Workers that start with each epoch are part of the time."""
    for limit in (job.seconds, 5 * job.seconds):
        begin, count = time.perf_counter(), 0
        iterator = iter(loader)
        for _ in iterator:
            count += 1
            if time.perf_counter() - begin > limit:
                break
        found = count / (time.perf_counter() - begin)
        close(iterator)
    return found


def close(iterator):
    """Ends the workers of a loader before its epoch ends."""
    with contextlib.suppress(Exception):
        iterator._shutdown_workers()


def epochs(job, model, batches_of_epoch):
    """Trains an epoch of node classification; yields its seconds, the part of them in which the model
    computed, and the seconds in which the model computes alone. batches_of_epoch() yields (arguments of
    the model, labels). Some batches are trained before, to warm up.

    Loaders and servers that work meanwhile take processors, caches and bandwidth from the model. The
    model therefore also computes alone, with batches that are prepared before. They are a part of the
    epoch's batches, because all of them take more memory than there is; their time is scaled to the
    epoch's number of nodes."""
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    def train(batches):
        """Returns the seconds in all and in the model, and the numbers of right predictions and
        nodes."""
        begin, compute, correct, seen = time.perf_counter(), 0.0, 0, 0
        for inputs, labels in batches:
            start = time.perf_counter()
            out = model(*inputs)[: len(labels)]
            loss = F.cross_entropy(out, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            compute += time.perf_counter() - start
            correct += (out.argmax(1) == labels).sum().item()
            seen += len(labels)
        return time.perf_counter() - begin, compute, correct, seen

    nodes = job.shape["training_nodes"]
    train(itertools.islice(batches_of_epoch(), WARM_UP_BATCHES))
    took, within, correct, seen = train(batches_of_epoch())
    assert seen == nodes, f"the epoch had {seen} training nodes"
    yield "epoch", took
    yield "epoch_compute_within", within
    yield "epoch_accuracy", correct / seen
    batches = batches_of_epoch()
    prepared = list(itertools.islice(batches, PREPARED_BATCHES))
    batches.close()  # also ends the workers of its loader
    _, alone, _, seen = train(prepared)
    yield "epoch_compute", alone * nodes / seen


def embedding_rates(job, create):
    """Yields rows per second of pull(ids) and step(), which create() returns. step() pushes the
    gradients of the rows that were pulled, and updates them. Its rate is measured cold, in the first
    quarter of the steps over a new embedding, with its creation; and warm, in the last quarter.

    Some systems give an embedding its memory and first values when they create it, and others in the
    steps that follow. So the creation is part of the cold rate. In a virtual machine whose host takes
    free memory back, most of the creation's time passes until the host has returned that memory."""
    import torch

    draw = np.random.default_rng(1)
    pulls, steps, own = [], [], []
    begin = time.perf_counter()
    pull, step = create()
    created = time.perf_counter() - begin
    for _ in range(EMBEDDING_STEPS):
        ids = torch.from_numpy(draw.integers(0, job.nodes, EMBEDDING_ROWS))
        begin = time.perf_counter()
        rows = pull(ids)
        pulls.append(time.perf_counter() - begin)
        rows.sum().backward()
        begin, used = time.perf_counter(), time.process_time()
        step()
        steps.append(time.perf_counter() - begin)
        own.append(time.process_time() - used)
    quarter = EMBEDDING_STEPS // 4
    yield "embedding_pull", EMBEDDING_ROWS / statistics.median(pulls[-quarter:])
    # Means instead of medians, because some steps are slow, such as cold ones that load pages.
    yield "embedding_step_cold", EMBEDDING_ROWS * quarter / (created + sum(steps[:quarter]))
    yield "embedding_step", EMBEDDING_ROWS / statistics.mean(steps[-quarter:])
    yield "embedding_created", created
    yield "embedding_cold_steps", sum(steps[:quarter])
    yield "embedding_step_own", statistics.mean(own[-quarter:])


def resident(process="self"):
    """Returns the resident memory of a process in bytes."""
    return status(process, "VmRSS")


def status(process, field):
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        found = re.search(rf"^{field}:\s+(\d+) kB", file.read(), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def loopback_bytes():
    """Returns the bytes that have passed through the loopback interface, with headers."""
    with open("/proc/net/dev", encoding="utf-8") as file:
        return int(re.search(r"lo:\s*(\d+)", file.read()).group(1))
