# SPDX-License-Identifier: Apache-2.0
"""The common part of the tests of the Python package: DGL's fixtures with DGL's recorded answers,
and real daemons that serve them."""

import collections
import functools
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import graphd

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from free_ports import free_ports

BIN = os.environ.get("GRAPHD_BIN_DIR") or sys.exit("set GRAPHD_BIN_DIR to build/<preset>/bin")
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "dgl")

Fixture = collections.namedtuple("Fixture", ["config", "expected", "edges"])

_work = tempfile.mkdtemp(prefix="graphd-python-")


@functools.cache
def unpacked(name):
    """Unpacks a fixture, and returns its part config and DGL's answers."""
    target = os.path.join(_work, name)
    shutil.copytree(os.path.join(FIXTURES, name), target)
    for folder, _, files in os.walk(target):
        for file in files:
            if file.endswith(".gz"):
                path = os.path.join(folder, file)
                with gzip.open(path) as packed, open(path[:-3], "wb") as out:
                    shutil.copyfileobj(packed, out)
                os.remove(path)
    with open(os.path.join(target, "expected.json")) as file:
        expected = json.load(file)
    return os.path.join(target, expected["config"]), expected


@functools.cache
def fixture(name):
    """Unpacks a fixture, and returns its part config, DGL's answers, and {canonical type: {edge id:
    (source, destination)}}, which is made from the answers."""
    config, expected = unpacked(name)
    return Fixture(config, expected, _edges(expected))


def _edges(expected):
    book = expected["books"][0]
    typed_nodes = _typer(book["typed_nid_range"])
    typed_edges = _typer(book["typed_eid_range"])
    found = collections.defaultdict(dict)
    for part in expected["parts"]:
        nodes = part["ndata"]["_ID"]["values"]
        edges = part["edata"]["_ID"]["values"]
        inner = part["edata"]["inner_edge"]["values"]
        coo = part["coo_by_local_eid"]
        for edge, is_inner, u, v in zip(edges, inner, coo["src"], coo["dst"]):
            if is_inner:
                etype, eid = typed_edges(edge)
                found[tuple(etype.split(":"))][eid] = (
                    typed_nodes(nodes[u])[1],
                    typed_nodes(nodes[v])[1],
                )
    return dict(found)


def _typer(ranges):
    """Returns a function from a homogeneous id to (type, id within the type)."""

    def typed(number):
        for name, parts in ranges.items():
            before = 0
            for begin, end in parts:
                if begin <= number < end:
                    return name, before + number - begin
                before += end - begin
        raise KeyError(number)

    return typed


def slowness():
    """Returns how many times as long as on an idle machine something may take."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


class Daemons:
    """The running daemons of a fixture, or of a part config, one graphd per partition. `of_part` returns
    the options of the daemon of one partition."""

    def __init__(self, name, *options, of_part=lambda part: ()):
        self.folder = tempfile.mkdtemp(prefix="graphd-served-")
        self.server_name = "python_test"
        self.ip_config = os.path.join(self.folder, "ip_config.txt")
        self.runtime = os.path.join(self.folder, "run")
        config = name if name.endswith(".json") else fixture(name).config
        with open(config) as file:
            ports = free_ports(json.load(file)["num_parts"])
        with open(self.ip_config, "w") as file:
            file.write("".join(f"127.0.0.1 {port}\n" for port in ports))
        self.processes = []
        for part, port in enumerate(ports):
            with open(self.log(part), "w") as log:
                self.processes.append(
                    subprocess.Popen(
                        [
                            os.path.join(BIN, "graphd"),
                            "--server_name",
                            self.server_name,
                            "--part_config",
                            config,
                            "--part_id",
                            str(part),
                            "--listen",
                            f"127.0.0.1:{port}",
                            "--runtime_dir",
                            self.runtime,
                            "--state_dir",
                            os.path.join(self.folder, f"state{part}"),
                            *options,
                            *of_part(part),
                        ],
                        stdout=log,
                        stderr=log,
                    )
                )
        for part in range(len(ports)):
            self._wait(part)

    def connect(self, **options):
        """Opens a session with these daemons, which the caller closes."""
        with unittest.mock.patch.dict(os.environ, GRAPHD_RUNTIME_DIR=self.runtime):
            return graphd.connect(self.server_name, ip_config=self.ip_config, **options)

    def connect_trainers(self, job_id, world_size, **options):
        """Opens a session for each trainer of a job, all in this process."""
        return [
            self.connect(job_id=job_id, rank=rank, world_size=world_size, **options)
            for rank in range(world_size)
        ]

    def log(self, part):
        return os.path.join(self.folder, f"graphd-{part}.log")

    def _wait(self, part):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.processes[part].poll() is None:
            with open(self.log(part)) as log:
                if "serving" in log.read():
                    return
            time.sleep(0.01)
        with open(self.log(part)) as log:
            raise AssertionError(f"graphd of partition {part} is not ready:\n{log.read()}")

    def environment(self, **more):
        """Returns the environment variables of a trainer."""
        return dict(
            os.environ,
            GRAPHD_SERVER_NAME=self.server_name,
            GRAPHD_IP_CONFIG=self.ip_config,
            GRAPHD_RUNTIME_DIR=self.runtime,
            **more,
        )

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)
        shutil.rmtree(self.folder)


class GraphTest(unittest.TestCase):
    """The base class of tests that use a fixture, in this process or with servers."""

    fixture = "hetero_2p"

    def setUp(self):
        self.addCleanup(graphd.distributed.exit_client)

    def standalone(self):
        return graphd.distributed.DistGraph(part_config=fixture(self.fixture).config)

    @classmethod
    def start_daemons(cls):
        return Daemons(cls.fixture)

    @classmethod
    def daemons(cls):
        if "_daemons" not in cls.__dict__:
            cls._daemons = cls.start_daemons()
            cls.addClassCleanup(cls._daemons.stop)
        return cls._daemons

    def served(self, transport="auto"):
        daemons = self.daemons()
        os.environ.update(GRAPHD_RUNTIME_DIR=daemons.runtime, GRAPHD_TRANSPORT=transport)
        graphd.distributed.initialize(daemons.ip_config, server_name=daemons.server_name)
        return graphd.distributed.DistGraph()

    def each_way(self):
        """Yields the graph in this process, then from mapped memory, then over TCP."""
        for way in ("standalone", "auto", "tcp"):
            with self.subTest(way):
                yield self.standalone() if way == "standalone" else self.served(way)
            graphd.distributed.exit_client()


def main():
    try:
        unittest.main()
    finally:
        shutil.rmtree(_work)
