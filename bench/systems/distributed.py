# SPDX-License-Identifier: Apache-2.0
"""The measurements of both graphd and DGL's distributed layer, which have the same interface."""

import resource
import time

import numpy as np
import torch

from systems import common

SEEDS_OF_HOP, HOPS = 10_000, 20
FIRST_BATCHES, LATER_BATCHES = 20, 5


def page_faults():
    """Returns how often this process has touched a page for the first time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class Trainer:
    """A trainer beside the first of the servers that bench/compare has started.

    `connect()` connects, and `open_graph()` returns the graph. `sampler(fanouts)` makes a neighbour
    sampler. `message_bytes(graph)` returns the bytes of all messages of samples so far, if the system
    counts them.
    """

    def __init__(self, connect, open_graph, sampler, message_bytes=None):
        self.connect = connect
        self.message_bytes = message_bytes
        self.open_graph = open_graph
        self.sampler = sampler
        self.graph = None
        self.training = None

    def connected(self, job):
        """Returns the graph. The first call connects."""
        if self.graph is None:
            self.connect()
            self.graph = self.open_graph()
        return self.graph

    def first_batch(self):
        self.sampler([10, 25]).sample_blocks(self.graph, torch.arange(1000))

    def attach(self, _):
        """Yields the time from connecting to the first batch, and its parts. It makes the same batch
        again later, when all that it reads has been read before."""
        times = [time.perf_counter()]
        self.connect()
        times.append(time.perf_counter())
        self.graph = self.open_graph()
        times.append(time.perf_counter())
        faults = page_faults()
        self.first_batch()
        times.append(time.perf_counter())
        yield "attach", times[-1] - times[0]
        for part, begin, end in zip(("connect", "open", "batch"), times, times[1:]):
            yield f"attach_{part}", end - begin
        yield "attach_faults", page_faults() - faults
        yield "attach_later", min(common.seconds_of(self.first_batch) for _ in range(LATER_BATCHES))

    def first_batches(self, job):
        """Yields the batches with features per second of a process that has made none yet, and of the
        same process later."""
        g, made = self.connected(job), self.sampler([10, 25])
        feat, seeds = g.ndata["feat"], common.batches(self.training_ids(job), 1000)

        def step():
            assert len(feat[made.sample_blocks(g, next(seeds))[0]])
            return 1

        begin, faults = time.perf_counter(), page_faults()
        for _ in range(FIRST_BATCHES):
            step()
        yield "first_batches", FIRST_BATCHES / (time.perf_counter() - begin)
        yield "first_batches_faults", page_faults() - faults
        yield "later_batches", common.rate(job, step)

    def training_ids(self, job):
        """Returns the training nodes by their ids in the partitioned graph."""
        if self.training is None:
            original = self.connected(job).ndata["orig_id"][torch.arange(job.nodes)]
            new = torch.empty(job.nodes, dtype=torch.int64)
            new[original] = torch.arange(job.nodes)
            self.training = new[job.tensor("train_idx")].sort()[0]
        return self.training

    def sampling(self, name, result=None, sampler=None):
        """Returns the measure of sampled edges per second, with this or another sampler and name."""
        result, sampler = result or name, sampler or self.sampler

        def measure(job):
            g = self.connected(job)
            made = sampler(common.FANOUTS[name][0])
            batch = [0, 0]

            def sample(seeds, _):
                inputs, _, blocks = made.sample_blocks(g, seeds)
                batch[:] = sum(block.num_edges() for block in blocks), len(inputs)
                return batch[0]

            yield result, common.sampling_rate(job, name, self.training_ids(job), sample)
            yield f"{result}_edges_of_batch", batch[0]
            yield f"{result}_rows_of_batch", batch[1]

        return measure

    def rows(self, job):
        feat = self.connected(job).ndata["feat"]
        yield "rows_local", common.row_rate(job, lambda ids: feat[ids])

    def boundary(self, job):
        """Returns the first node of the second partition."""
        book = self.connected(job).get_partition_book()
        return int((book.nid2partid(torch.arange(job.nodes)) == 0).sum())

    def rows_remote(self, job):
        feat = self.connected(job).ndata["feat"]
        begin = self.boundary(job)
        yield "rows_remote", common.row_rate(job, lambda ids: feat[ids], begin)

    def wire(self, result, sampler=None):
        """Returns the measure of the bytes on the loopback interface for hops whose seeds another
        machine has."""

        def measure(job):
            g, made = self.connected(job), (sampler or self.sampler)([10])
            draw = np.random.default_rng(1)
            seeds = torch.from_numpy(
                np.unique(draw.integers(self.boundary(job), job.nodes, SEEDS_OF_HOP))
            )
            messages = self.message_bytes(g) if self.message_bytes else None
            edges, before = 0, common.loopback_bytes()
            for _ in range(HOPS):
                edges += made.sample_blocks(g, seeds)[2][0].num_edges()
            yield result, (common.loopback_bytes() - before) / edges
            yield f"{result}_seeds", HOPS * len(seeds) / edges
            if self.message_bytes:
                yield f"{result}_messages", (self.message_bytes(g) - messages) / edges

        return measure

    def measures(self):
        return {
            "attach": self.attach,
            "first_batches": self.first_batches,
            "sample_2": self.sampling("sample_2"),
            "sample_3": self.sampling("sample_3"),
            "rows_local": self.rows,
            "rows_remote": self.rows_remote,
            "wire_per_edge": self.wire("wire_per_edge"),
        }
