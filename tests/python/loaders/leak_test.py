# SPDX-License-Identifier: Apache-2.0
"""Checks that loaders leave nothing behind, neither in this process nor in the daemons: no
descriptors, mappings, threads, objects, references or memory.

LEAK_BATCHES is the number of batches to make; a million takes half an hour.
"""

import gc
import itertools
import os
import sys
import time

import torch

import graphd
import support
from graphd.distributed import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from graphd.sampling import NeighborSampler, negative_sampler

BATCHES = int(os.environ.get("LEAK_BATCHES", "10000"))
WAYS = (("standalone", 0.45), ("auto", 0.45), ("tcp", 0.1))  # with their shares of the batches
MEMORY = 12 << 20  # tolerance for memory that allocators keep


def resident(pid="self"):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Loaders:
    """Makes loaders, reads them to the end or stops in the middle, and drops them."""

    def __init__(self, g):
        self.g, self.nodes, self.edges = g, torch.arange(200), torch.arange(200)
        self.sampler = NeighborSampler(
            [3, 3], prefetch_node_feats=["feat"], prefetch_labels=["label"]
        )
        self.negatives = negative_sampler.Uniform(1)

    def made(self, kind, workers):
        if kind == "nodes":
            return DistNodeDataLoader(
                self.g, self.nodes, self.sampler, batch_size=20, shuffle=True, num_workers=workers
            )
        if kind == "edges":
            return DistEdgeDataLoader(
                self.g,
                self.edges,
                self.sampler,
                batch_size=20,
                num_workers=workers,
                exclude="self",
                negative_sampler=self.negatives,
            )
        return DistDataLoader(
            self.nodes, 20, num_workers=workers, collate_fn=self.sampler.bind(self.g).sample_blocks
        )

    def look_at(self, batch):
        block = batch[-1][0] if isinstance(batch, tuple) else batch[0]
        block.srcdata["feat"], block.csc(), block.edata[graphd.EID], block.num_edges()

    def run(self, batches):
        ways = itertools.cycle(
            itertools.product(("nodes", "edges", "nodes", "python"), (2, 0), (10, 3))
        )
        while batches > 0:
            kind, workers, wanted = next(ways)
            for batch in itertools.islice(self.made(kind, workers), wanted):
                self.look_at(batch)
                batches -= 1


class Leaks(support.GraphTest):
    fixture = "sbm_2p_metis"

    def counts(self, loaders):
        """Returns the counts that must not grow."""
        deadline = time.monotonic() + 10
        while len(os.listdir("/proc/self/task")) > self.threads and time.monotonic() < deadline:
            time.sleep(0.01)  # lets the last loader end, which stopped in the middle
        gc.collect()
        with open("/proc/self/maps") as file:
            mappings = sum("graphd" in line or "memfd" in line for line in file)
        return {
            "descriptors": descriptors(),
            "mappings": mappings,
            "threads": len(os.listdir("/proc/self/task")),
            "references": [
                sys.getrefcount(each)
                for each in (
                    loaders.g,
                    loaders.g.handle,
                    loaders.g.session,
                    loaders.g.types,
                    loaders.sampler,
                    loaders.sampler.handle(loaders.g.types),
                    loaders.nodes,
                )
            ],
        }

    def test_loaders_leave_nothing_behind(self):
        for way, share in WAYS:
            batches = int(BATCHES * share)
            with self.subTest(way):
                g = self.standalone() if way == "standalone" else self.served(way)
                pids = [] if way == "standalone" else [p.pid for p in self.daemons().processes]
                loaders = Loaders(g)
                list(loaders.made("nodes", 0))  # starts torch's threads and this process's job
                self.threads = len(os.listdir("/proc/self/task"))
                loaders.run(max(1000, batches // 4))
                before, here, objects = self.counts(loaders), resident(), len(gc.get_objects())
                there = [(descriptors(pid), resident(pid)) for pid in pids]
                begin = time.monotonic()
                loaders.run(batches)
                seconds = time.monotonic() - begin
                after = self.counts(loaders)
                grown, objects = resident() - here, len(gc.get_objects()) - objects
                print(
                    f"{way}: {batches} batches in {seconds:.1f} s, memory {here >> 10} KiB "
                    f"{grown >> 10:+} KiB, objects {objects:+}; {after}",
                    flush=True,
                )
                self.assertEqual(before, after)
                self.assertLess(objects, 20)  # the test itself makes some objects
                self.assertLess(grown, MEMORY)
                for pid, (files, memory) in zip(pids, there):
                    print(
                        f"  daemon: memory {memory >> 10} KiB "
                        f"{resident(pid) - memory >> 10:+} KiB, {descriptors(pid)} descriptors"
                    )
                    self.assertEqual(descriptors(pid), files)
                    self.assertLess(resident(pid) - memory, MEMORY)
                del g, loaders
            graphd.distributed.exit_client()


if __name__ == "__main__":
    support.main()
