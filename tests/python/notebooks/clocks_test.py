# SPDX-License-Identifier: Apache-2.0
"""Tests that slow functions run while a clock does, which progress_test.py sees on a terminal."""

import contextlib
import gzip
import os
import tempfile
import unittest.mock

import torch

import graphd
import support
from graphd import _graphd, input_names, plot, progress
from graphd.device import DeviceRowCache
from graphd.distributed import (
    DistGraph,
    DistTensor,
    PartitionPolicy,
    elementwise,
    load_partition,
    node_names,
    partition,
    partition_graph,
)
from graphd.sampling import select_topk
from late_device import LateDevice


class Clocks(support.GraphTest):
    def check(self, call, holder, name, description):
        """Checks that `call` calls a function of an object while a clock with this text runs."""
        running, seen, clock, function = [], [], progress.clock, getattr(holder, name)

        @contextlib.contextmanager
        def noted_clock(text):
            with clock(text):
                running.append(text)
                try:
                    yield
                finally:
                    running.remove(text)

        def noted(*arguments, **options):
            seen.extend(running)
            return function(*arguments, **options)

        patch = unittest.mock.patch.object
        with patch(progress, "clock", noted_clock), patch(holder, name, noted):
            found = call()
        self.assertIn(description, seen)
        self.assertEqual(running, [])
        return found

    def test_what_opens_reads_and_copies(self):
        config = support.fixture(self.fixture).config
        opening = f"opening {os.path.realpath(config)!r}"
        with self.check(
            lambda: graphd.connect(part_config=config), _graphd, "Session", opening
        ) as session:
            self.assertEqual(session.graph().num_nodes("user"), 300)
        g = self.check(lambda: DistGraph(part_config=config), _graphd, "Session", opening)
        users = g.nodes["user"].data
        self.check(
            lambda: load_partition(config, 1), _graphd, "load_partition", "loading partition 1"
        )
        self.check(
            lambda: select_topk(g, 1, "w", {"user": [1]}),
            _graphd,
            "select_topk",
            "selecting edges by 'w'",
        )
        self.check(
            lambda: users["feat"].keep_cached([1, 2]),
            DistTensor,
            "_with_ids",
            "caching rows of 'feat'",
        )
        cache = self.check(
            lambda: DeviceRowCache(users["feat"], [1, 2], LateDevice()),
            DistTensor,
            "__getitem__",
            "caching rows of 'feat' on cpu",
        )
        self.assertTrue(torch.equal(cache.get(torch.tensor([2])), users["feat"][[2]]))
        self.check(lambda: plot.cut(g), _graphd.Graph, "find_edges", "reading edges")

        def change():
            users["feat"][[0]] = torch.ones(1, 16)

        self.check(change, _graphd, "create_tensor", "copying feature 'feat'")
        self.assertEqual(users["feat"][[0]].tolist(), [[1.0] * 16])

    def test_reads_of_many_rows_by_ids_masks_and_strides(self):
        tensor = DistTensor((5000, 2), torch.int64, "many", part_policy=self.range_policy())
        rows = torch.arange(10000).reshape(5000, 2)
        tensor[:] = rows
        mask = torch.arange(5000) % 3 == 0
        with unittest.mock.patch.object(elementwise, "_PIECE_ELEMENTS", 1 << 8):
            for index in (
                torch.arange(0, 5000, 2),
                [4, 4999, -1] * 1000,
                mask,
                mask.tolist(),
                slice(10, 5000, 3),
                slice(None),
            ):
                is_whole = isinstance(index, slice) and index.step is None
                found = self.check(
                    lambda: tensor[index],  # noqa: B023
                    _graphd.DistTensor,
                    "slice" if is_whole else "read",
                    "reading 'many'",
                )
                self.assertTrue(torch.equal(found, rows[index]))
        with unittest.mock.patch.object(progress, "clock") as clock:
            for index in (7, [1, 2], mask, slice(0, 5000, 2)):
                tensor[index]
            self.assertEqual(clock.call_count, 0)
            tensor[[1] * progress.MANY]
        clock.assert_called_once_with("reading 'many'")

    def range_policy(self):
        return PartitionPolicy("range", self.standalone())

    def test_partitioning_of_a_graph_with_names(self):
        ends = ["ada", "bob", "eve"], ["eve", "ada", "ada"]
        with tempfile.TemporaryDirectory() as folder:

            def made(**options):
                return partition_graph(ends, "mine", 1, folder, force=True, **options)

            self.check(made, partition, "raw_graph", "converting the graph")
            config = self.check(made, input_names, "write", "writing names of '_N'")
            nodes, _ = self.check(
                lambda: made(return_mapping=True), _graphd, "Graph", "reading original ids"
            )
            g = DistGraph(part_config=config)
            names = self.check(g.node_names, gzip, "open", "reading names of '_N'")
            ids = self.check(
                lambda: names.ids_of(["eve", "ada"]),
                node_names,
                "by_original_id",
                "indexing names of '_N'",
            )
            self.assertEqual(nodes[ids].tolist(), [2, 0])


if __name__ == "__main__":
    support.main()
