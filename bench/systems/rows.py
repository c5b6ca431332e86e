# SPDX-License-Identifier: Apache-2.0
"""The rows of the comparison: what is measured, in which unit, against which limit and target."""

import dataclasses

SYSTEMS = ("DGL distributed", "DGL local", "GraphBolt", "PyG", "graphlearn-torch", "graphd")
OURS = "graphd"
# The random reads per second of the machine for which the targets that are scaled by them were set.
REFERENCE_READS = 60e6
SHARE, SCALED = "a share of the limit", "scaled to the machine"
EMBEDDING_COLUMNS, EMBEDDING_ROWS, EMBEDDING_STEPS = 128, 10_000, 400


@dataclasses.dataclass(frozen=True)
class Row:
    """A measurement. Neighbours of the same subject differ in `detail`. `limit` names a value that
    systems.limits or graphd's own measurements give, or is a number. `target` is a value for the whole
    graph, which is scaled to the machine's random reads if `by_machine` is set, or a share of the limit
    if `of_limit` is set."""

    name: str
    subject: str
    detail: str
    unit: str
    more_is_better: bool
    limit: object = None
    limit_title: str = ""
    target: float = None
    of_limit: bool = False
    by_machine: bool = False

    @property
    def nominal_is(self):
        """Returns how the target in a run follows from `target`."""
        return SHARE if self.of_limit else SCALED if self.by_machine else "as it is"

    def target_in(self, limits):
        """Returns the target in a run with these limits, or None."""
        if self.of_limit:
            limit = limits.get(self.limit)
            return limit * self.target if limit else None
        reads = limits.get("lines")
        if self.target is None or not self.by_machine or not reads:
            return self.target
        assert self.more_is_better, self.name
        return self.target * reads / REFERENCE_READS


MORE, LESS = True, False
PARTITION, READY, ATTACH = "partition in 2, random", "servers ready", "connect to first batch"
SAMPLING, ROWS_OF_400 = "sampling", "rows, 100,000 x 400 B"
EMBEDDING, LOADER, EPOCH = (
    "embedding, 10,000 x 128",
    "loader with features",
    "GraphSAGE epoch, 1 worker",
)
BYTES = "bytes per edge"
COPY, READING, TRIPS = (
    "reading and writing once",
    "reading the files",
    "2 round trips and the batch",
)
FIRST, LATER = "first 20 batches with features", "the later rate of the same processes"
ALONE = "its computation alone, with batches that are ready"
RANDOM = "random lines of memory, by the edges that a batch takes from each"
KERNELS, ID = "sampling without ids and rows in sequence", "an id of 4 bytes"
ROWS = (
    Row("partition", PARTITION, "whole graph", "s", LESS, "partition", COPY, 15),
    Row("partition_memory", PARTITION, "whole graph, peak memory with mapped files", "B", LESS),
    Row("partition_fifth", PARTITION, "a fifth of the graph", "s", LESS, "partition_fifth", COPY),
    Row("partition_fifth_memory", PARTITION, "a fifth, peak memory with mapped files", "B", LESS),
    Row("start", READY, "page cache warm", "s", LESS, "read_warm", READING, 0.8),
    Row("start_cold", READY, "page cache cold", "s", LESS, "read_cold", READING, 1.1, True),
    Row("restart", READY, "restart under a service manager", "s", LESS, None, "", 0.2),
    Row("attach", ATTACH, "same machine", "s", LESS, "attach", TRIPS, 0.010),
    Row("attach_tcp", ATTACH, "2 machines, over TCP", "s", LESS, "attach_tcp", TRIPS, 0.010),
    Row("first_batches", FIRST, "same machine", "batches/s", MORE, "later_batches", LATER, 0.9, True),
    Row("first_batches_tcp", FIRST, "2 machines, over TCP", "batches/s", MORE, "later_batches_tcp",
        LATER, 0.9, True),
    Row("sample_2", SAMPLING, "[10,25] x 1000", "edges/s", MORE, "sample_2", RANDOM, 35e6,
        by_machine=True),
    Row("sample_2_plain", SAMPLING, "[10,25] x 1000, without ids of edges", "edges/s", MORE, "sample_2",
        RANDOM),
    Row("sample_kernel", SAMPLING, "10 edges of each seed, the kernel alone", "edges/s", MORE,
        "sample_kernel", RANDOM),
    Row("sample_3", SAMPLING, "[15,10,5] x 1024", "edges/s", MORE, "sample_3", RANDOM),
    Row("sample_2_tcp", SAMPLING, "[10,25] x 1000, 2 machines, over TCP", "edges/s", MORE,
        "sample_2", RANDOM, 28e6, by_machine=True),
    Row("sample_2_plain_tcp", SAMPLING, "[10,25] x 1000, over TCP, without ids of edges", "edges/s",
        MORE, "sample_2", RANDOM),
    Row("rows_local", ROWS_OF_400, "same machine", "rows/s", MORE, "rows_local", "a bare gather", 0.9,
        True),
    Row("rows_remote", ROWS_OF_400, "over TCP", "rows/s", MORE, "rows_remote",
        "plain sockets and memcpy", 0.9, True),
    Row("embedding_pull", EMBEDDING, "pull", "rows/s", MORE),
    Row("embedding_step_cold", EMBEDDING, "creation, then pushes and Adagrad steps", "rows/s", MORE,
        "step_cold", "the same after touching memory", 2.5e6, by_machine=True),
    Row("embedding_step", EMBEDDING, "push and Adagrad step, warm", "rows/s", MORE, "step",
        "a loop over memory", 4e6, by_machine=True),
    Row("loader_0", LOADER, "0 workers", "batches/s", MORE, "kernels", KERNELS),
    Row("loader_1", LOADER, "1 worker", "batches/s", MORE, "kernels", KERNELS, 0.9, True),
    Row("loader_2", LOADER, "2 workers", "batches/s", MORE, "kernels_2", "twice the one worker's", 0.95,
        True),
    Row("epoch", EPOCH, "same machine", "s", LESS, "compute", ALONE, 1.03, True),
    Row("epoch_tcp", EPOCH, "2 machines, over TCP", "s", LESS, "compute_tcp", ALONE,
        1.10, True),
    Row("memory_per_edge", BYTES, "memory, original ids included", "B", LESS, 4, ID),
    Row("disk_per_edge", BYTES, "disk, original ids included", "B", LESS, 4, ID),
    Row("least_per_edge", BYTES, "memory and disk, without original ids of edges", "B", LESS, 4, ID,
        5.0),
    Row("wire_per_edge", BYTES, "wire, per sampled edge, headers of TCP included", "B", LESS, 8,
        "an id of a node and one of an edge, of 4 bytes each"),
    Row("wire_plain_per_edge", BYTES, "wire, per sampled edge, without ids of edges", "B", LESS, 4, ID,
        4.5),
)  # fmt: skip

# The reasons for values that do not exist.
NO_SERVER = "the graph is in the trainer's memory, without a server"
NOT_MEASURED = "not measured by bench/compare"
BY_SAMPLERS = "its servers must be started for a certain number of samplers"
A_PART = "a part of graphd's work, measured to explain other rows"
PARTS = ("sample_2_plain", "sample_kernel", "sample_2_plain_tcp", "wire_plain_per_edge")
OF_DGL = {
    "least_per_edge": "its partitions always have the original ids of edges",
    "restart": "the same as a start",
    "partition": "200 B of memory per edge: measured on a fifth of the graph",
    "partition_memory": "200 B of memory per edge: measured on a fifth of the graph",
    "loader_1": BY_SAMPLERS,
    "loader_2": BY_SAMPLERS,
}
SERVED = ("start", "start_cold", "restart", "attach", "attach_tcp", "first_batches", "first_batches_tcp",
          "sample_2_tcp", "rows_remote", "epoch_tcp", "wire_per_edge", "disk_per_edge",
          "least_per_edge")  # fmt: skip
NOT_OF_TRAINERS = ("partition", "partition_memory", "partition_fifth", "partition_fifth_memory",
                   "embedding_pull", "embedding_step_cold", "embedding_step")  # fmt: skip


def absent(row, system):
    """Returns the reason why a system has no value in a row, or None if it should have one."""
    if system == OURS:
        return None
    if row in PARTS:
        return A_PART
    if system == "DGL distributed":
        return OF_DGL.get(row)
    if row in SERVED:
        return NO_SERVER
    if row in NOT_OF_TRAINERS:
        return NOT_MEASURED
    if system == "graphlearn-torch" and row not in ("sample_2", "sample_3", "rows_local"):
        return NOT_MEASURED
    return None
