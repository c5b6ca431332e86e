# SPDX-License-Identifier: Apache-2.0
"""Tests names and arguments of DGL that scripts use beside those of its tutorials."""

import itertools
import re
import rlcompleter
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import torch

import graphd
import support
from graphd.distributed import (
    DistTensor,
    EdgePartitionPolicy,
    NodePartitionPolicy,
    PartitionPolicy,
    constants,
    dgl_remedies,
    edge_split,
    node_split,
)
from graphd.sampling import NeighborSampler

FOLLOWS = ("user", "follows", "user")


class Split(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_arange_stands_for_all_nodes_or_edges(self):
        for g in self.each_way():
            book = g.get_partition_book()
            for kind in (np.int64, np.int32):
                nodes = node_split(np.arange(g.num_nodes(), dtype=kind), book, force_even=True)
                self.assertEqual(nodes.tolist(), list(range(g.num_nodes())))
            edges = edge_split(torch.arange(g.num_edges()), book)
            self.assertEqual(edges.tolist(), list(range(g.num_edges())))

    def test_a_mask_of_integers_is_a_mask(self):
        g = self.standalone()
        mask = (np.arange(g.num_nodes()) % 3 == 1).astype(np.int64)
        nodes = node_split(torch.from_numpy(mask), g.get_partition_book())
        self.assertEqual(nodes.tolist(), np.flatnonzero(mask).tolist())

    def test_some_ids_are_no_mask(self):
        g = self.standalone()
        for ids in (torch.tensor([5, 7]), torch.arange(g.num_nodes()).flip(0)):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "mask of zeros"):
                node_split(ids, g.get_partition_book())
        with self.assertRaisesRegex(graphd.errors.InvalidError, str(g.num_nodes())):
            node_split(torch.arange(g.num_nodes() - 1), g.get_partition_book())


class Policies(support.GraphTest):
    def test_policies_of_a_book_are_those_of_its_graph(self):
        for g in self.each_way():
            book = g.get_partition_book()
            self.assertEqual(NodePartitionPolicy(book, "user").policy_str, "node~user")
            edges = EdgePartitionPolicy(book, FOLLOWS)
            self.assertEqual(edges.policy_str, "edge~user:follows:user")
            self.assertEqual(edges.get_size(), g.num_edges("follows"))
            tensor = DistTensor(
                (300, 2), torch.float32, part_policy=NodePartitionPolicy(book, "user")
            )
            self.assertEqual(tensor.part_policy.policy_str, "node~user")
            with self.assertRaisesRegex(graphd.errors.InvalidError, "name one of them"):
                NodePartitionPolicy(book)

    def test_a_policy_is_made_of_its_name_and_a_book(self):
        for g in self.each_way():
            book = g.get_partition_book()
            for policy, wanted in (
                (PartitionPolicy("node~user", book), g.get_node_partition_policy("user")),
                (
                    PartitionPolicy("edge~user:follows:user", book),
                    EdgePartitionPolicy(book, FOLLOWS),
                ),
                (PartitionPolicy("edge~follows", g), EdgePartitionPolicy(book, "follows")),
                (
                    PartitionPolicy(policy_str="node~post", partition_book=book),
                    NodePartitionPolicy(partition_book=book, ntype="post"),
                ),
            ):
                self.assertEqual(policy.policy_str, wanted.policy_str)
                self.assertEqual(policy.get_size(), wanted.get_size())
                self.assertEqual(policy.get_part_size(), len(wanted.local_ids()))
            self.assertEqual((wanted.type_name, wanted.is_node), ("post", True))
            edges = EdgePartitionPolicy(partition_book=book, etype=FOLLOWS)
            self.assertEqual((edges.type_name, edges.is_node), (FOLLOWS, False))
            whole = PartitionPolicy("range", book)
            self.assertEqual((whole.policy_str, whole.is_node), ("range", False))
            for wrong, message in (
                ("node", "name one of them"),
                ("user", "'node', 'edge' or 'range'"),
                ("range~user", "'range' without a name"),
                (g, "node~user"),
            ):
                with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                    PartitionPolicy(wrong, book)
            with self.assertRaisesRegex(graphd.errors.InvalidError, "g.get_partition_book"):
                PartitionPolicy("node~user", None)
            with self.assertRaises(graphd.errors.NotFoundError):
                PartitionPolicy("node~nobody", book)

    def test_the_only_type_needs_no_name(self):
        config = support.fixture("sbm_2p_metis").config
        g = graphd.distributed.DistGraph(part_config=config)
        book = g.get_partition_book()
        for name in ("node", "node~_N"):
            self.assertEqual(PartitionPolicy(name, book).policy_str, "node~_N")
        for name in ("edge", "edge~_N:_E:_N"):
            self.assertEqual(PartitionPolicy(name, book).policy_str, "edge~_N:_E:_N")

    def test_a_policy_belongs_to_the_graph_of_its_book(self):
        g = self.standalone()
        graphd.distributed.exit_client()
        config = support.fixture("sbm_2p_metis").config
        other = graphd.distributed.DistGraph(part_config=config)
        policy = NodePartitionPolicy(other.get_partition_book())
        self.assertEqual(policy.get_size(), len(other.ndata["feat"]))
        self.assertIs(NodePartitionPolicy(g.get_partition_book(), "user").g, g)
        of_policy = NodePartitionPolicy(policy.partition_book)
        self.assertIs(of_policy.g, other)
        for book in ("node~user", g):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "g.get_partition_book"):
                NodePartitionPolicy(book, "user")


class Client(support.GraphTest):
    def test_its_barrier_waits_for_every_trainer(self):
        graphs = [each.graph() for each in self.daemons().connect_trainers("client", 2)]
        policy = graphs[0].get_node_partition_policy("user")
        tensor = DistTensor((300,), torch.int64, "kept", part_policy=policy)
        seen = []

        def wait():
            graphs[1]._client.barrier()
            seen.extend(DistTensor.open(graphs[1], "kept")[:3].tolist())

        other = threading.Thread(target=wait)
        other.start()
        time.sleep(0.2)
        self.assertTrue(other.is_alive())
        tensor[[0, 1, 2]] = torch.tensor([4, 5, 6])
        graphs[0]._client.barrier()
        other.join(30)
        self.assertEqual(seen, [4, 5, 6])
        self.assertIn("kept", graphs[1]._client.data_name_list())
        self.assertIn("kept", graphs[1]._client.gdata_name_list())

    def test_other_parts_of_dgls_client_have_a_remedy(self):
        with self.assertRaisesRegex(AttributeError, "_client.pull: .*brackets of a DistTensor"):
            _ = self.standalone()._client.pull

    def test_a_trainer_ends_as_in_dgl_0_5_and_leaves_the_servers(self):
        self.served()
        graphd.distributed.shutdown_servers()
        graphd.distributed.finalize_client()
        with self.assertRaisesRegex(graphd.errors.InvalidError, "neither servers nor"):
            graphd.distributed.DistGraph()
        g = self.served()
        remedy = "graphctl server stop --ip_config ip_config.txt"
        with self.assertRaisesRegex(graphd.errors.InvalidError, remedy):
            graphd.distributed.shutdown_servers("ip_config.txt", 1)
        self.assertEqual(len(g.in_degrees([0], etype="follows")), 1)


class Loaders(support.GraphTest):
    def batches(self, g, sampler, **options):
        loader = graphd.dataloading.EdgeDataLoader(
            g, {FOLLOWS: torch.arange(40)}, sampler, batch_size=16, seed=3, **options
        )
        return [
            (
                input_nodes["user"].tolist(),
                [each.tolist() for each in positive.edges(etype=FOLLOWS)],
                [each.tolist() for each in negative.edges(etype=FOLLOWS)],
                [block.edges(form="eid", etype=FOLLOWS).tolist() for block in blocks],
            )
            for input_nodes, positive, negative, blocks in loader
        ]

    def test_an_edge_prediction_sampler_carries_the_loaders_arguments(self):
        loading = graphd.dataloading
        for g in self.each_way():
            sampler = loading.NeighborSampler([3, 3])
            options = {"exclude": "self", "negative_sampler": loading.negative_sampler.Uniform(2)}
            wanted = self.batches(g, sampler, **options)
            self.assertEqual(len(wanted), 3)
            made = loading.as_edge_prediction_sampler(sampler, **options)
            self.assertEqual(self.batches(g, made), wanted)
            with self.assertRaisesRegex(graphd.errors.InvalidError, "alone"):
                self.batches(g, made, exclude="self")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "exclude 'all'"):
            loading.as_edge_prediction_sampler(sampler, exclude="all")
        with self.assertRaisesRegex(graphd.errors.InvalidError, "BlockSampler"):
            loading.as_edge_prediction_sampler([10, 25])

    def test_labels_of_edges_come_with_the_graph_of_positive_pairs(self):
        loading = graphd.dataloading
        sampler = loading.NeighborSampler([3])
        for g in self.each_way():
            weights, number = g.edges["follows"].data["w"][:], len(g.edges["follows"].data["w"])
            made = DistTensor(
                (number,), torch.int64, "made", part_policy=g.get_edge_partition_policy("follows")
            )
            made[:] = torch.arange(number)
            g.edges["follows"].data["made"] = made
            for labels in ({FOLLOWS: ["w", "made"]}, {"follows": "w"}):
                of_edges = loading.as_edge_prediction_sampler(
                    sampler,
                    negative_sampler=loading.negative_sampler.Uniform(2),
                    prefetch_labels=labels,
                )
                loader = loading.EdgeDataLoader(
                    g, {FOLLOWS: torch.arange(40)}, of_edges, batch_size=16, shuffle=True
                )
                for _, positive, negative, _ in loader:
                    data = positive.edges[FOLLOWS].data
                    ids = data[graphd.EID]
                    self.assertTrue(torch.equal(data["w"], weights[ids]))
                    if FOLLOWS in labels:
                        self.assertTrue(torch.equal(data["made"], ids))
                    self.assertEqual(list(negative.edges[FOLLOWS].data), [graphd.EID])
            for wrong, error in (
                ({"follows": ["weihgt"]}, graphd.errors.NotFoundError),
                (["w"], graphd.errors.InvalidError),
                ({"follows": [7]}, graphd.errors.InvalidError),
            ):
                of_edges = loading.as_edge_prediction_sampler(sampler, prefetch_labels=wrong)
                with self.assertRaises(error):
                    loading.EdgeDataLoader(g, {FOLLOWS: [1]}, of_edges, batch_size=1)

    def test_a_negative_sampler_can_be_written_in_python(self):
        class Backwards:  # This is how DGL's guide writes samplers.
            def __init__(self, g, k):
                self.nodes, self.k, self.threads = g.num_nodes("user"), k, set()

            def __call__(self, g, eids):
                ((etype, ids),) = eids.items()
                self.threads.add(threading.get_ident())
                src, _ = g.find_edges(ids, etype)
                src = src.repeat_interleave(self.k)
                return {etype: (src, self.nodes - 1 - src)}

        for g in self.each_way():
            for workers in (0, 2):
                sampler = Backwards(g, 2)
                loader = graphd.dataloading.EdgeDataLoader(
                    g,
                    {FOLLOWS: torch.arange(100)},
                    NeighborSampler([2]),
                    batch_size=30,
                    num_workers=workers,
                    exclude="self",
                    negative_sampler=sampler,
                )
                count = 0
                for _, positive, negative, (block,) in loader:
                    nodes = negative.ndata[graphd.NID]["user"]
                    u, v = (nodes[ends] for ends in negative.edges(etype=FOLLOWS))
                    eids = positive.edata[graphd.EID][FOLLOWS]
                    src, _ = g.find_edges(eids, "follows")
                    self.assertTrue(torch.equal(u, src.repeat_interleave(2)))
                    self.assertTrue(torch.equal(v, 299 - u))
                    found = block.edges[FOLLOWS].data[graphd.EID]
                    self.assertFalse(set(eids.tolist()) & set(found.tolist()))
                    count += len(u)
                self.assertEqual(count, 200)
                is_here = threading.get_ident() in sampler.threads
                self.assertEqual(is_here, workers == 0)

    def test_a_graph_with_one_edge_type_gives_a_tensor_of_ids(self):
        g = graphd.distributed.DistGraph(part_config=support.fixture("sbm_2p_metis").config)
        loader = graphd.distributed.DistEdgeDataLoader(
            g,
            torch.arange(10),
            NeighborSampler([2]),
            batch_size=10,
            negative_sampler=lambda g, eids: g.find_edges(eids)[::-1],
        )
        ((_, positive, negative, _),) = loader
        self.assertTrue(torch.equal(positive.edges()[0], negative.edges()[1]))

    def test_errors_of_a_negative_sampler_reach_the_loop(self):
        def fails(g, eids):
            raise ZeroDivisionError("no such negatives")

        g = self.standalone()
        for sampler, error, message in (
            (fails, ZeroDivisionError, "no such negatives"),
            (lambda g, eids: next(iter(())), RuntimeError, "raised StopIteration"),
            (lambda g, eids: None, graphd.errors.InvalidError, "returned .*NoneType.*sources"),
            (lambda g, eids: {"in": ([], [])}, graphd.errors.InvalidError, "other types, too"),
            (lambda g, eids: ([0], [10**6]), graphd.errors.InvalidError, "1000000"),
            (lambda g, eids: ([0.5], [1]), graphd.errors.InvalidError, "negative sources"),
        ):
            for workers in (0, 2):
                with self.subTest(message, workers=workers):
                    options = {"num_workers": workers, "negative_sampler": sampler}
                    self.assertRaisesRegex(
                        error, message, self.batches, g, NeighborSampler([1]), **options
                    )

    def test_a_process_ends_while_its_loader_calls_a_negative_sampler(self):
        script = f"""
import time, torch, graphd
def slow(g, eids):
    time.sleep(0.05)
    return [0], [1]
g = graphd.distributed.DistGraph(part_config={support.fixture("hetero_2p").config!r})
loader = graphd.distributed.DistEdgeDataLoader(
    g, {{{FOLLOWS!r}: torch.arange(1000)}}, graphd.sampling.NeighborSampler([1]),
    batch_size=1, num_workers=3, negative_sampler=slow)
batches = iter(loader)
next(batches)
print("batch")
"""
        for _ in range(3):
            run = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
            )
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "batch\n", ""))

    def test_ctrl_c_ends_a_process_whose_negative_sampler_is_blocked(self):
        script = f"""
import threading, torch, graphd
entered = threading.Event()
def blocked(g, eids):
    entered.set()
    threading.Event().wait()
g = graphd.distributed.DistGraph(part_config={support.fixture("hetero_2p").config!r})
loader = graphd.distributed.DistEdgeDataLoader(
    g, {{{FOLLOWS!r}: torch.arange(9)}}, graphd.sampling.NeighborSampler([1]),
    batch_size=1, num_workers=1, negative_sampler=blocked)
batches = iter(loader)
entered.wait()
print("entered", flush=True)
"""
        run = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        self.assertEqual(run.stdout.readline(), b"entered\n")
        deadline = time.monotonic() + 30 * support.slowness()
        while run.poll() is None and time.monotonic() < deadline:
            run.send_signal(signal.SIGINT)  # the first one may come before the process ends
            time.sleep(0.3)
        self.assertIsNotNone(run.returncode)

    def test_samplers_and_loaders_show_what_they_are(self):
        g = self.standalone()
        sampling = graphd.sampling
        loader = sampling.DistNodeDataLoader(
            g, {"user": torch.arange(10)}, NeighborSampler([2, 3]), batch_size=4
        )
        self.assertEqual(repr(loader), "DistNodeDataLoader(3 batches, NeighborSampler([2, 3]))")
        self.assertEqual(
            repr(sampling.as_edge_prediction_sampler(NeighborSampler([1]), exclude="self")),
            "EdgePredictionSampler(NeighborSampler([1]), exclude='self')",
        )
        for made in (
            sampling.LaborSampler([4]),
            sampling.LayerSampler([4]),
            sampling.ShadowSampler([4]),
            sampling.TopKSampler([4], "weight"),
        ):
            self.assertEqual(repr(made), f"{type(made).__name__}([4])")
        full = sampling.MultiLayerFullNeighborSampler(2)
        self.assertEqual(repr(full), "MultiLayerFullNeighborSampler([-1, -1])")

    def test_completion_shows_what_users_need(self):
        self.assertEqual(
            sorted(dir(graphd)), sorted({*graphd.__all__, "__version__", "nn", "plot"})
        )
        for name in dir(graphd):
            self.assertTrue(hasattr(graphd, name), name)
        # The interactive interpreter completes `graphd.<TAB>` in this way.
        completer = rlcompleter.Completer({"graphd": graphd})
        shown = itertools.takewhile(bool, (completer.complete("graphd.", i) for i in range(1000)))
        names = {re.match(r"graphd\.(\w+)", text)[1] for text in shown}
        self.assertEqual(names, {name for name in dir(graphd) if not name.startswith("_")})

    def test_names_that_graphd_does_not_have_are_errors_that_say_what_to_use(self):
        for module, name, remedy in (
            (graphd, "DGLGraph", "graphd.distributed.partition_graph"),
            (graphd, "function", "import it from dgl"),
            (graphd, "node_subgraph", "use graphd.distributed.node_subgraph"),
            (graphd.distributed, "DistGraphServer", "graphctl server start"),
            (graphd.distributed, "KVServer", "brackets of a DistTensor"),
            (graphd.distributed, "get_machine_id", "use partid"),
            (graphd.distributed, "dgl_partition_to_graphbolt", "that partition_graph writes"),
            (graphd.dataloading, "DataLoader", "use DistNodeDataLoader"),
            (graphd.sampling, "sample_neighbors", "use graphd.distributed.sample_neighbors"),
        ):
            text = f"'{module.__name__}' has no attribute '{name}', which DGL has; .*{remedy}"
            with self.assertRaisesRegex(AttributeError, text):
                getattr(module, name)
            with self.assertRaisesRegex(AttributeError, "no attribute 'nobody'$"):
                _ = module.nobody

    def test_remedies_name_what_graphd_has(self):
        for module, groups in dgl_remedies._REMEDIES.items():
            for name in " ".join(names for names, _ in groups).split():
                self.assertFalse(hasattr(sys.modules[module], name), f"{module}.{name}")
                text = str(dgl_remedies.no_attribute(module, name))
                for path in re.findall(r"graphd(?:\.\w+)+", text.partition("; ")[2]):
                    thing = graphd
                    for part in path.split(".")[1:]:
                        thing = getattr(thing, part)

    def test_columns_of_dgls_graphs_have_its_names(self):
        names = (graphd.NID, graphd.EID, graphd.NTYPE, graphd.ETYPE, graphd.ALL)
        self.assertEqual(names, ("_ID", "_ID", "_TYPE", "_TYPE", "__ALL__"))
        self.assertEqual(constants.DEFAULT_ETYPE, ("_N", "_E", "_N"))

    def test_loaders_have_their_earlier_names(self):
        g = self.standalone()
        loader = graphd.dataloading.NodeDataLoader(
            g, {"user": torch.arange(10)}, NeighborSampler([2]), batch_size=5
        )
        self.assertEqual(len(list(loader)), 2)


if __name__ == "__main__":
    support.main()
