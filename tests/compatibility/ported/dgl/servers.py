# SPDX-License-Identifier: Apache-2.0
"""Runs a function with the servers of a graph, which are in a process of their own."""

import concurrent.futures
import multiprocessing
import os
import unittest.mock

import dgl
import torch
import utils

PARTS = 2


def make_graph(nodes=500):
    """Returns a graph with features, whose edges are in the order of their destinations."""
    g = utils.create_random_graph(nodes)
    g.ndata["features"] = torch.arange(nodes * 2, dtype=torch.float32).reshape(nodes, 2)
    g.edata["features"] = torch.arange(g.num_edges()).reshape(-1, 1)
    return g


def make_typed_graph(nodes=300):
    """Returns a graph with two types of nodes and of edges."""
    draw = torch.Generator().manual_seed(3)

    def ends():
        return torch.randint(nodes, (2 * nodes,), generator=draw)

    return dgl.heterograph(
        {("n1", "r1", "n2"): (ends(), ends()), ("n2", "r2", "n1"): (ends(), ends())},
        {"n1": nodes, "n2": nodes},
    )


def partition(g, **options):
    """Writes the partitions of a graph to the working directory. Returns the original ids of its nodes
    and edges by their new ones."""
    return dgl.distributed.partition_graph(
        g, "ported", PARTS, "parts", return_mapping=True, **options
    )


def _serve(number):
    dgl.distributed.DistGraphServer(number, "ip_config.txt", 1, 1, "parts/ported.json").start()


def _serve_all():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(_serve, range(PARTS)))


def with_servers(function):
    """Returns what the function returns for the DistGraph of a client."""
    utils.generate_ip_config("ip_config.txt", PARTS, 1)
    with unittest.mock.patch.dict(os.environ, DGL_DIST_MODE="distributed"):
        process = multiprocessing.get_context("spawn").Process(target=_serve_all)
        process.start()
        dgl.distributed.initialize("ip_config.txt")
        found = function(dgl.distributed.DistGraph("ported"))
        dgl.distributed.exit_client()
        process.join()
    assert process.exitcode == 0
    return found
