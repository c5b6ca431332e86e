# SPDX-License-Identifier: Apache-2.0
"""Stands for the module ``utils`` of DGL's tests."""

import os
import socket

_VARIABLES = ("ROLE", "NUM_SAMPLER", "NUM_SERVER", "DIST_MODE", "NUM_CLIENT", "DIST_MAX_TRY_TIMES",
              "DIST_DEBUG", "GROUP_ID")  # fmt: skip


def reset_envs():
    for name in _VARIABLES:
        os.environ.pop(f"DGL_{name}", None)


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def generate_ip_config(file_name, num_machines, num_servers):
    with open(file_name, "w", encoding="utf-8") as file:
        file.writelines(f"127.0.0.1 {port}\n" for port in _free_ports(num_machines))


def get_local_usable_addr():
    return f"127.0.0.1 {_free_ports(1)[0]}"


def create_random_graph(n):
    """Returns a random graph whose edges are in the order in which graphd numbers them, that of their
    destinations. DGL's leaves the numbers of edges as they are if there is one partition."""
    import dgl

    u, v = dgl.rand_graph(n, int(n * n * 0.001)).edges()
    order = (v * n + u).argsort(stable=True)
    return dgl.graph((u[order], v[order]), num_nodes=n)
