# SPDX-License-Identifier: Apache-2.0
"""Makes ``dgl.distributed`` of graphd, for DGL's own tests. Graphs are made by DGL itself.

Names that graphd has under another name, or whose result has another form, are converted here, and
nowhere else: what a user of DGL has to change in a script is what this module does.

`DistGraphServer` runs the daemon graphd for one line of the ip_config. It ends when all clients have
left, as DGL's server does. A server's folder below GRAPHD_WORK has files by which clients find it.
"""

import atexit
import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import types

import graphd

_d = graphd.distributed
_PATIENCE = 60  # seconds for a server to be there
_left = None  # the file by which a server learns that this process has left its job


class NotInGraphd:
    """Stands for a class of DGL that graphd does not have, so that other tests of a file can run."""

    def __init__(self, *_, **__):
        raise NotImplementedError(f"graphd has no {type(self).__name__}")


def _missing(name):
    return type(name, (NotInGraphd,), {})


def prepare():
    """Is called before DGL is imported, which takes Debian's PyTorch for too old."""
    import torch

    torch.__version__ = torch.__version__.replace("1.13.0a0", "1.13.1")


def change(dgl):
    """Lets functions of DGL take graphs of graphd."""
    dgl.DGLError = (dgl.DGLError, graphd.GraphdError)
    to_block = dgl.to_block

    def of_either(g, dst_nodes=None, *args, **options):
        if isinstance(g, graphd.sampled.SampledGraph):
            return graphd.to_block(g, dst_nodes, *args, **options)
        return to_block(g, dst_nodes, *args, **options)

    dgl.to_block = of_either
    for name in graphd.dataloading.__all__:
        setattr(dgl.dataloading, name, getattr(graphd.dataloading, name))
    sys.modules["dgl.data"].CitationGraphDataset = lambda name: [_cora(dgl)]
    sys.modules["dgl.data"].WN18Dataset = _missing("WN18Dataset")


def _cora(dgl):
    """Returns a graph with as many nodes and edges as Cora, without parallel edges. Edges are in the
    order of destinations: see utils.create_random_graph."""
    import torch

    draw = torch.Generator().manual_seed(1)
    pairs = torch.randperm(2708 * 2707, generator=draw)[:10556]
    pairs = pairs.sort().values
    v, u = pairs // 2707, pairs % 2707
    return dgl.graph((u + (u >= v), v), num_nodes=2708)


def module(name):
    """Returns a module of ``dgl.distributed``, or dgl.graphbolt."""
    made = types.ModuleType(name)
    made.__dict__.update(_contents().get(name, {}))
    if name == "dgl.distributed":
        made.__path__ = []
        for each in _contents():
            if each.startswith("dgl.distributed."):
                sys.modules[each] = module(each)
                setattr(made, each.rpartition(".")[2], sys.modules[each])
    return made


def _contents():
    from graphd.distributed import constants

    role = {
        name: getattr(_d, name)
        for name in ("get_role", "get_rank", "get_global_rank", "get_trainer_rank")
    }
    return {
        "dgl.distributed": {
            **{name: getattr(_d, name) for name in _d.__all__},
            "DistGraph": DistGraph,
            "DistGraphServer": DistGraphServer,
            "convert_dgl_partition_to_csc_sampling_graph": _missing(
                "convert_dgl_partition_to_csc_sampling_graph"
            ),
            "edge_split": edge_split,
            "exit_client": exit_client,
            "initialize": initialize,
            "load_partition": load_partition,
            "node_split": node_split,
            "partition_graph": partition_graph,
        },
        "dgl.distributed.optim": {
            name: getattr(_d.optim, name) for name in dir(_d.optim) if name[0] != "_"
        },
        "dgl.distributed.graph_partition_book": {
            "BasicPartitionBook": _missing("BasicPartitionBook"),
            "DEFAULT_ETYPE": constants.DEFAULT_ETYPE,
            "DEFAULT_NTYPE": constants.DEFAULT_NTYPE,
            "EdgePartitionPolicy": _d.EdgePartitionPolicy,
            "GraphPartitionBook": _d.GraphPartitionBook,
            "HeteroDataName": _missing("HeteroDataName"),
            "NodePartitionPolicy": _d.NodePartitionPolicy,
            "RangePartitionBook": _d.RangePartitionBook,
            "_etype_tuple_to_str": ":".join,
        },
        "dgl.distributed.partition": {
            "RESERVED_FIELD_DTYPE": _reserved(),
            "_get_inner_edge_mask": _inner("inner_edge", "edata", "_TYPE"),
            "_get_inner_node_mask": _inner("inner_node", "ndata", "_TYPE"),
            "load_partition": load_partition,
            "partition_graph": partition_graph,
        },
        "dgl.distributed.dist_graph": {"RESERVED_FIELD_DTYPE": _reserved()},
        "dgl.distributed.role": {**role, "PER_ROLE_RANK": {}, "GLOBAL_RANK": {}},
        "dgl.distributed.graph_services": {},
        "dgl.distributed.kvstore": {},
        "dgl.graphbolt": {"FusedCSCSamplingGraph": _missing("FusedCSCSamplingGraph")},
    }


def _reserved():
    import torch

    return {
        "inner_node": torch.uint8,
        "inner_edge": torch.uint8,
        "_ID": torch.int64,
        "_TYPE": torch.int32,
    }


def _inner(mask, frame, kind):
    def of(graph, number):
        data = getattr(graph, frame)
        found = data[mask].bool()
        return found & (data[kind] == number) if kind in data else found

    return of


# --- Graphs and partitions. ---


def partition_graph(*args, **options):
    """Replaces the files of a graph of the same name, as DGL does."""
    return _d.partition_graph(*args, force=True, **options)


def load_partition(*args, **options):
    """Returns the partition as a graph of DGL, with all matrices that DGL makes when they are used."""
    part, *others = _d.load_partition(*args, **options)
    local = part.to_dgl()
    local.create_formats_()
    return (local, *others)


class DistGraph(_d.DistGraph):
    """A graph that is found without its name, too: DGL compares names in shared memory alone."""

    def __init__(self, graph_name, gpb=None, part_config=None):
        part_config = None if _is_distributed() else part_config
        try:
            super().__init__(graph_name, gpb, part_config)
        except graphd.errors.NotFoundError:
            super().__init__("", gpb, part_config)

    @property
    def local_partition(self):
        return super().local_partition.to_dgl()


_d.DistTensor.kvstore_key = property(lambda self: self.name)
_d.GraphPartitionBook._num_nodes = _d.GraphPartitionBook.num_nodes
_d.GraphPartitionBook._num_edges = _d.GraphPartitionBook.num_edges


def _split(split, mask, book, type_name, rank, force_even, trainer_ids, of):
    """Takes the number of trainers from the variables in which DGL's tests simulate roles."""
    simulated = sys.modules["dgl.distributed.role"].PER_ROLE_RANK.get("default")
    if simulated and rank is not None:
        number = book.ntype_id(type_name) if of == "node" else book.etype_id(type_name)
        return book.handle.split(of == "edge", number, mask, rank, len(simulated), bool(force_even), 0)
    return split(mask, book, type_name, rank, force_even, trainer_ids)


def node_split(
    nodes, partition_book=None, ntype="_N", rank=None, force_even=True, node_trainer_ids=None
):
    args = (nodes, partition_book, ntype, rank, force_even, node_trainer_ids)
    return _split(_d.node_split, *args, "node")


def edge_split(
    edges,
    partition_book=None,
    etype=("_N", "_E", "_N"),
    rank=None,
    force_even=True,
    edge_trainer_ids=None,
):
    args = (edges, partition_book, etype, rank, force_even, edge_trainer_ids)
    return _split(_d.edge_split, *args, "edge")


# --- Servers and clients. ---


def _is_distributed():
    return os.environ.get("DGL_DIST_MODE") == "distributed"


class _Meeting:
    """The folder by which servers and clients of an ip_config meet."""

    def __init__(self, ip_config):
        with open(ip_config, encoding="utf-8") as file:
            text = file.read()
        self.addresses = [line.split() for line in text.splitlines() if line]
        digest = hashlib.sha256(f"{os.path.realpath(ip_config)} {text}".encode()).hexdigest()[:12]
        self.server_name = f"dgl_{digest}"
        self.folder = os.path.join(os.environ["GRAPHD_WORK"], digest)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def files(self, prefix):
        return [self.path(each) for each in os.listdir(self.folder) if each.startswith(prefix)]

    def touch(self, name):
        with open(self.path(name), "w", encoding="utf-8"):
            pass

    def remove(self, *prefixes):
        for prefix in prefixes:
            for each in self.files(prefix):
                with contextlib.suppress(FileNotFoundError):  # two servers may end at once
                    os.remove(each)

    def wait(self, condition):
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise ConnectionError(f"no server of {self.addresses} within {_PATIENCE} s")
            time.sleep(0.05)


class DistGraphServer:
    def __init__(
        self,
        server_id,
        ip_config,
        num_servers,
        num_clients,
        part_config,
        disable_shared_mem=False,
        graph_format=("csc", "coo"),
        keep_alive=False,
        net_type=None,
        use_graphbolt=False,
    ):
        self._meeting = _Meeting(ip_config)
        self._part, self._backup = divmod(server_id, num_servers)
        self._clients, self._config = num_clients, os.fspath(part_config)
        self._shared = not disable_shared_mem

    @property
    def client_g(self):
        return load_partition(self._config, self._part)[0]

    def start(self):
        meeting = self._meeting
        if self._backup:  # threads of the daemon do the work of DGL's backup servers
            return
        host, port = meeting.addresses[self._part][:2]
        state = tempfile.mkdtemp(dir=os.environ["GRAPHD_WORK"])
        log = os.path.join(state, "log")
        with open(log, "w", encoding="utf-8") as out:
            daemon = subprocess.Popen(
                [os.path.join(os.environ["GRAPHD_BIN_DIR"], "graphd"),
                 "--server_name", meeting.server_name, "--part_config", self._config,
                 "--part_id", str(self._part), "--listen", f"{host}:{port}",
                 "--runtime_dir", meeting.path("run"), "--state_dir", state],
                stdout=out, stderr=out)  # fmt: skip
        try:
            self._serve(daemon, log)
        finally:
            daemon.terminate()
            daemon.wait()
            meeting.remove(f"ready-{self._part}")
            meeting.touch(f"done-{self._part}")
            if len(meeting.files("done-")) == len(meeting.addresses):  # all have seen the clients
                meeting.remove("client-", "rank-", "done-")

    def _serve(self, daemon, log):
        def is_serving():
            if daemon.poll() is not None:
                with open(log, encoding="utf-8") as file:
                    raise RuntimeError(file.read())
            with open(log, encoding="utf-8") as file:
                return "serving" in file.read()

        self._meeting.wait(is_serving)
        ready = self._meeting.path(f"ready-{self._part}")
        with open(f"{ready}.new", "w", encoding="utf-8") as file:
            file.write(f"{self._clients} {'auto' if self._shared else 'tcp'}")
        os.rename(f"{ready}.new", ready)
        while not self._all_have_left():
            if daemon.poll() is not None:
                raise RuntimeError(f"graphd ended with {daemon.returncode}")
            time.sleep(0.05)

    def _all_have_left(self):
        clients = 0
        for each in self._meeting.files("client-"):
            with open(each, encoding="utf-8") as file:
                pid, weight, *left = file.read().split() or (os.getpid(), 0)
            if not left and os.path.exists(f"/proc/{pid}"):
                return False
            clients += int(weight)
        return clients >= self._clients


def initialize(ip_config=None, **options):
    """Joins the job; DGL's servers number the trainers, here the trainers do so."""
    global _left
    if not _is_distributed():
        return _d.initialize(**options)
    meeting = _Meeting(ip_config)
    parts = range(len(meeting.addresses))
    meeting.wait(lambda: all(os.path.exists(meeting.path(f"ready-{p}")) for p in parts))
    with open(meeting.path("ready-0"), encoding="utf-8") as file:
        clients, transport = file.read().split()
    samplers = int(os.environ.get("DGL_NUM_SAMPLER", "0"))
    world = max(int(clients) // (1 + samplers), 1)
    job = f"group-{os.environ.get('DGL_GROUP_ID', '0')}"
    rank = 0
    while True:
        try:
            os.close(os.open(meeting.path(f"rank-{job}-{rank}"), os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            rank += 1
    _left = meeting.path(f"client-{job}-{rank}")
    with open(_left, "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {1 + samplers}")
    os.environ.update(GRAPHD_RUNTIME_DIR=meeting.path("run"), GRAPHD_TRANSPORT=transport)
    _d.initialize(
        ip_config,
        server_name=meeting.server_name,
        num_workers=samplers,
        job_id=job,
        rank=rank,
        world_size=world,
        **options,
    )


def exit_client():
    _d.exit_client()
    leave()


def leave():
    """Tells the servers that this process needs them no longer."""
    global _left
    if _left is not None and os.path.exists(_left):
        with open(_left, "a", encoding="utf-8") as file:
            file.write(" left")
    _left = None


atexit.register(leave)
