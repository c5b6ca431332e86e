# SPDX-License-Identifier: Apache-2.0
"""Tests sessions as objects: several graphs and servers in one process."""

import os
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
        with unittest.mock.patch.dict(os.environ, {"GRAPHD_RUNTIME_DIR": daemons.runtime}):
            session = graphd.connect(daemons.server_name, ip_config=daemons.ip_config, **options)
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

    def test_wrong_arguments_are_errors_that_say_what_to_give(self):
        config = support.fixture("sbm_2p_metis").config
        for options, message in (
            ({}, "give a server_name"),
            ({"server_name": "mine", "part_config": config}, "exclude each other"),
            ({"part_config": config, "num_samplers": -1}, "num_samplers -1"),
            ({"part_config": config, "timeout": -1}, "timeout -1"),
            ({"server_name": 3}, "server_name 3"),
            ({"part_config": config, "job_id": 3}, "job_id 3"),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                graphd.connect(**options)
        with self.assertRaisesRegex(graphd.errors.NotFoundError, "nowhere.json"):
            graphd.connect(part_config="nowhere.json")
        with self.assertRaisesRegex(graphd.GraphdError, "other"):
            self.open("sbm_2p_metis").graph("other")


if __name__ == "__main__":
    support.main()
