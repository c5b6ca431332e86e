# SPDX-License-Identifier: Apache-2.0
"""Tests sessions as objects: several graphs and servers in one process."""

import os
import tempfile
import time
import unittest
import unittest.mock

import torch

import graphd
import support
from graphd.distributed import DistGraph, DistTensor, node_split
from graphd.sampling import NeighborSampler


class Sessions(unittest.TestCase):
    def open(self, name, **options):
        session = graphd.connect(part_config=support.fixture(name).config, **options)
        self.addCleanup(session.close)
        return session

    def serve(self, name):
        daemons = support.Daemons(name)
        self.addCleanup(daemons.stop)
        return daemons

    def connect(self, daemons, **options):
        session = daemons.connect(**options)
        self.addCleanup(session.close)
        return session

    def test_two_graphs_are_open_at_a_time(self):
        sbm, hetero = self.open("sbm_2p_metis").graph(), self.open("hetero_2p").graph()
        self.assertEqual(len(sbm.ntypes), 1)
        self.assertGreater(len(hetero.ntypes), 1)
        self.assertEqual(sbm.ndata["feat"][[0]].shape[0], 1)
        self.assertGreater(hetero.num_nodes(), 0)

    def test_two_servers_are_connected_at_a_time(self):
        first, second = self.serve("sbm_2p_metis"), self.serve("hetero_2p")
        sbm, hetero = self.connect(first).graph(), self.connect(second).graph()
        self.assertEqual(len(sbm.ntypes), 1)
        self.assertGreater(len(hetero.ntypes), 1)
        rows = sbm.num_nodes()
        of_sbm = sbm.get_node_partition_policy()  # hetero is the latest graph
        tensor = DistTensor((rows,), torch.float32, name="mine", part_policy=of_sbm)
        tensor[torch.arange(rows)] = torch.ones(rows)
        self.assertEqual(tensor[torch.arange(rows)].sum().item(), rows)

    def test_the_session_of_initialize_stays_as_it_is(self):
        graphd.distributed.initialize(part_config=support.fixture("sbm_2p_metis").config)
        self.addCleanup(graphd.distributed.exit_client)
        with self.open("hetero_2p") as session:
            self.assertGreater(len(session.graph().ntypes), 1)
            self.assertEqual(len(DistGraph().ntypes), 1)
        self.assertEqual(len(DistGraph().ntypes), 1)

    def test_a_closed_session_says_so_and_its_graphs_go_on(self):
        with self.open("sbm_2p_metis") as session:
            g = session.graph()
        self.assertIn("closed", repr(session))
        session.close()
        with self.assertRaisesRegex(graphd.errors.InvalidError, "closed; call connect again"):
            session.graph()
        self.assertGreater(len(g.in_degrees()), 0)

    def test_loaders_and_splits_use_the_session_of_the_graph(self):
        daemons = self.serve("sbm_2p_metis")
        ranks = {"RANK": "1", "WORLD_SIZE": "2"}
        with unittest.mock.patch.dict(os.environ, ranks):
            session = self.connect(daemons, job_id="a job of two", num_samplers=2)
        self.assertEqual((session.rank, session.world_size), (1, 2))
        self.assertRegex(repr(session), "python_test.*trainer 1 of 2")
        g = session.graph()
        mask = torch.ones(g.num_nodes(), dtype=torch.bool)
        mine = node_split(mask, g.get_partition_book(), force_even=True)
        self.assertEqual(len(mine), g.num_nodes() // 2)
        loader = graphd.distributed.DistNodeDataLoader(g, mine, NeighborSampler([2]), batch_size=64)
        self.assertEqual(sum(len(seeds) for _, seeds, _ in loader), len(mine))

    def test_rows_of_remote_partitions_are_cached_if_asked_for(self):
        daemons = self.serve("sbm_2p_metis")
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_TRANSPORT": "tcp"}):
            plain = self.connect(daemons).graph()
            cached = self.connect(daemons, row_cache="8MiB").graph()
        nodes = torch.arange(plain.num_nodes())
        for _ in range(2):
            self.assertTrue(torch.equal(cached.ndata["feat"][nodes], plain.ndata["feat"][nodes]))
        counts = cached.row_cache_statistics()
        self.assertGreater(counts["hits"], 0.95 * len(nodes))
        self.assertEqual(counts["hits"] + counts["misses"], 2 * len(nodes))
        self.assertEqual(counts["hit_bytes"] % counts["hits"], 0)
        self.assertLessEqual(counts["used_bytes"], 8 << 20)
        self.assertEqual(set(plain.row_cache_statistics().values()), {0})
        for wrong in ("8 elephants", -1, 1.5):
            with self.assertRaisesRegex(graphd.errors.InvalidError, "row_cache"):
                self.connect(daemons, row_cache=wrong)

    def test_a_session_has_a_job_of_its_own_whatever_the_environment_says(self):
        ranks = {"RANK": "1", "WORLD_SIZE": "2", "GRAPHD_JOB_ID": "other"}
        with unittest.mock.patch.dict(os.environ, ranks):
            session = self.connect(self.serve("sbm_2p_metis"))
        self.assertEqual((session.rank, session.world_size), (0, 1))
        session.barrier()  # waits for nobody
        self.assertFalse(session.is_standalone)

    def test_an_argument_takes_precedence_over_the_environment(self):
        config = support.fixture("sbm_2p_metis").config
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_SERVER_NAME": "nobody"}):
            self.assertTrue(graphd.connect(part_config=config).is_standalone)
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_PART_CONFIG": config}):
            self.assertTrue(graphd.connect().is_standalone)

    def test_remote_trainers_of_the_launchers_job_count_in_that_job_alone(self):
        daemons = self.serve("sbm_2p_metis")
        environment = {"RANK": "2", "WORLD_SIZE": "3", "GRAPHD_REMOTE_TRAINERS": "1"}
        with unittest.mock.patch.dict(os.environ, environment):
            of_job = self.connect(daemons, job_id="a job of three").graph()
            alone = self.connect(daemons).graph()
        mask = torch.ones(alone.num_nodes(), dtype=torch.bool)
        book = of_job.get_partition_book()
        share = node_split(mask, book)
        owners = book.nid2partid(share)
        counts = [int((owners == part).sum()) for part in (0, 1)]
        # The remote trainer has a part of both partitions, whether one asks by mask or by feature.
        self.assertTrue(min(counts) > 0, counts)
        self.assertLessEqual(abs(len(share) - alone.num_nodes() / 3), 1)
        by_feature = node_split(of_job.ndata["train_mask"], book)
        masks = alone.ndata["train_mask"][torch.arange(alone.num_nodes())].bool()
        self.assertTrue(torch.equal(by_feature, node_split(masks, book)))
        self.assertEqual(len(node_split(mask, alone.get_partition_book())), alone.num_nodes())

    def test_the_role_of_a_trainer_maps_what_is_on_this_machine_all_the_same(self):
        g = self.connect(self.serve("sbm_2p_metis"), role="trainer").graph()
        self.assertTrue(g.handle.is_mapped(0) and g.handle.is_mapped(1))

    def test_a_machine_that_ip_config_does_not_name_is_told_of_the_role(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("203.0.113.1\n")  # an address that no machine has (RFC 5737)
            file.flush()
            with self.assertRaisesRegex(graphd.errors.InvalidError, 'role="trainer"') as caught:
                graphd.connect("nobody", ip_config=file.name)
            self.assertIn(f"{file.name} names 203.0.113.1", str(caught.exception))
            with self.assertRaises(graphd.errors.UnavailableError):
                graphd.connect("nobody", ip_config=file.name, role="trainer", timeout=0.5)

    def test_a_mistyped_server_name_is_reported_at_once_with_the_names_there(self):
        daemons = self.serve("sbm_2p_metis")
        begin = time.monotonic()
        environment = {"GRAPHD_RUNTIME_DIR": daemons.runtime, "GRAPHD_TRANSPORT": "auto"}
        with (
            unittest.mock.patch.dict(os.environ, environment),
            self.assertRaisesRegex(
                graphd.errors.UnavailableError, "may be mistyped.*sockets of 'python_test'"
            ),
        ):
            graphd.connect("python_tset", ip_config=daemons.ip_config, timeout=100)
        self.assertLess(time.monotonic() - begin, 60)

    def test_wrong_arguments_are_errors_that_say_what_to_give(self):
        config = support.fixture("sbm_2p_metis").config
        for options, message in (
            ({}, "give a server_name"),
            ({"server_name": "mine", "part_config": config}, "exclude each other"),
            ({"part_config": config, "num_samplers": -1}, "num_samplers -1"),
            ({"part_config": config, "timeout": -1}, "timeout -1"),
            ({"part_config": config, "timeout": 86401}, "timeout of 86401000 ms: expected"),
            ({"part_config": config, "timeout": 1e300}, "0 to 86400 s; see GRAPHD_TIMEOUT"),
            ({"server_name": 3}, "server_name 3"),
            ({"part_config": config, "job_id": 3}, "job_id 3"),
            ({"part_config": config, "role": "worker"}, "role 'worker': use 'host' or 'trainer'"),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                graphd.connect(**options)
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "nowhere.json"):
            graphd.connect(part_config="nowhere.json")
        with self.assertRaisesRegex(graphd.GraphdError, "other"):
            self.open("sbm_2p_metis").graph("other")


if __name__ == "__main__":
    support.main()
