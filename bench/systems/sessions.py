# SPDX-License-Identifier: Apache-2.0
"""Runs the measurements of each system in processes of their own, and collects their results."""

import json
import os
import re
import statistics
import subprocess
import sys
import time

from systems import limits, servers
from systems.rows import EMBEDDING_COLUMNS, OURS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
TIMEOUT_SECONDS = 900
LOCAL = ("memory_per_edge", "sample_2", "sample_3", "rows_local", "loader_0", "loader_1", "loader_2",
         "epoch")  # fmt: skip
# The measures of a process that has just started.
FRESH = ("attach", "first_batches")
SERVED = ("sample_2", "sample_3", "rows_local", "embedding_step", "loader_0")
EMBEDDING = ("embedding_pull", "embedding_step_cold", "embedding_step")
OVER_TCP = ("sample_2", "rows_remote", "wire_per_edge", "epoch")
# Parts of graphd's work, which explain other results.
PARTS, PARTS_OVER_TCP = ("sample_2_plain",), ("sample_2_plain", "wire_plain_per_edge")


def over_tcp(name):
    """Returns the name of a result over TCP. Some are measured over TCP alone."""
    return name if name.startswith(("rows_remote", "wire")) else name + "_tcp"


def result_of(line):
    """Returns the result that a line has, or None for a line that a library has printed."""
    try:
        result = json.loads(line)
    except ValueError:
        return None
    return result if isinstance(result, dict) and "measure" in result else None


class Sessions:
    """Measures the systems, one after the other. `results` has {system: {name: {"value" or "error"}}}.

    build: the build folder of graphd; python: the interpreter of the environment; graph, fifth: the
    folders of the graph and of a smaller one; work: a folder for partitions; logs: a folder.
    """

    def __init__(self, build, python, graph, fifth, work, logs, seconds):
        self.bin = os.path.join(build, "bin")
        self.build, self.python, self.graph, self.fifth = build, python, graph, fifth
        self.work, self.logs, self.seconds = work, logs, seconds
        self.results = {}
        self.pythons = {}  # {module: the interpreter of another environment}
        # All systems get one thread, and the same modules.
        path = [os.path.join(HERE, ".."), os.path.join(build, "python")]
        os.environ.update(PYTHONPATH=os.pathsep.join(path), OMP_NUM_THREADS="1", MKL_NUM_THREADS="1",
                          PYTHONDONTWRITEBYTECODE="1", DGLBACKEND="pytorch")  # fmt: skip
        with open(os.path.join(graph, "graph.json"), encoding="utf-8") as file:
            self.shape = json.load(file)

    def embedding_bytes(self):
        """Returns the size of the measured embedding and of its Adagrad state, in float32."""
        return self.shape["nodes"] * EMBEDDING_COLUMNS * 4 * 2

    def put(self, system, name, **result):
        self.results.setdefault(system, {})[name] = result

    def measure(self, system, module, measures, server=None, rename=str, **variables):
        """Runs a module of a system with a job, beside a server if there is one; returns the results,
        whose names are those that rename(name) returns."""
        job = {"graph": self.graph, "seconds": self.seconds, "measures": measures}
        python = self.pythons.get(module, self.python)
        command = [python, "-m", f"systems.{module}", json.dumps(job)]
        environment = dict(server.environment() if server else os.environ, **variables)
        if server:
            command = server.trainer(command)
        log = os.path.join(self.logs, f"{module}-{len(os.listdir(self.logs))}.log")
        with open(log, "w", encoding="utf-8") as errors:
            try:
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=errors,
                                      text=True, check=False, timeout=TIMEOUT_SECONDS)  # fmt: skip
                out, reason = done.stdout, f"exit code {done.returncode}"
            except subprocess.TimeoutExpired as error:
                out, reason = (error.stdout or b"").decode(), f"not ready in {TIMEOUT_SECONDS} s"
        given = {}
        for result in filter(None, map(result_of, out.splitlines())):
            name = rename(result.pop("measure"))
            given[name] = result
            self.put(system, name, **result)
        with open(log, encoding="utf-8", errors="replace") as file:
            said = file.read().strip().split("\n")[-1][-400:]
        for name in map(rename, measures):
            if name not in given:
                given[name] = {"error": f"the process ended: {reason}: {said}"}
                self.put(system, name, **given[name])
            failed = self.results[system].get(name, {})
            for other in EMBEDDING if name == "embedding_step" and "error" in failed else ():
                self.put(system, other, **failed)
        return given

    def trained(self, system, module, measures, server, rename=str, **variables):
        """Measures a trainer beside a server. The measures of a new process (FRESH) come first; each is
        the median of several processes, if the servers can serve several trainers in turn."""
        if server.trainers == 1:
            self.measure(system, module, [*FRESH, *measures], server, rename, **variables)
            return
        found = {}
        for name in server.trainers * FRESH:
            given = self.measure(system, module, [name], server, rename, **variables)
            for name, result in given.items():
                found.setdefault(name, []).append(result)
        for name, each in found.items():
            failed = [result for result in each if "error" in result]
            if failed:
                self.put(system, name, **failed[0])
            else:
                self.put(system, name, value=statistics.median(result["value"] for result in each))
        self.measure(system, module, measures, server, rename, **variables)

    def guarded(self, system, names, act):
        """Calls act(). An exception becomes the result of each of `names` that has none yet."""
        try:
            act()
        except Exception as error:
            for name in names:
                self.results.setdefault(system, {}).setdefault(
                    name, {"error": f"{type(error).__name__}: {error}"[-600:].strip()})  # fmt: skip

    # Partitions.

    def partition_command(self, graph, parts, kind, output):
        formats = ["--graph_formats", "csc"] if kind == "dgl" else []
        return [os.path.join(self.bin, "graphctl"), "partition", "--graph_name", servers.NAME,
                *("--input", f"{graph}/edges.npy"), *("--nodes", f".feat={graph}/feat.npy"),
                *("--nodes", f".label={graph}/label.npy"), *("--num_parts", str(parts)),
                *("--part_method", "random"), *("--format", kind), *formats, "--force",
                *("--output", output)]  # fmt: skip

    def partitioned(self, parts, kind):
        """Returns the part config of the graph, which is partitioned at the first call."""
        output = os.path.join(self.work, f"{kind}-{parts}")
        config = os.path.join(output, f"{servers.NAME}.json")
        if not os.path.exists(config):
            done = subprocess.run(self.partition_command(self.graph, parts, kind, output), check=False,
                                  capture_output=True, text=True)  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"graphctl partition: {done.stderr.strip()[-500:]}")
        return config

    def timed(self, command, log):
        """Returns the seconds and the peak memory of a command."""
        begin = time.perf_counter()
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"exit code {process.returncode}: {file.read().strip()[-400:]}")
        return time.perf_counter() - begin, usage.ru_maxrss * 1024

    def partitioning(self, system, graph, name):
        """Measures partitioning; returns the limit: reading the input and writing the output."""
        output = os.path.join(self.work, f"partition-{name}")
        subprocess.run(["rm", "-rf", output], check=True)
        inputs = [f"{graph}/{each}.npy" for each in ("edges", "feat", "label")]
        limits.read_seconds(inputs)  # they are in the page cache from here on, for all alike
        reading = limits.read_seconds(inputs)
        if system == OURS:
            command = self.partition_command(graph, 2, "native", output)
        else:
            command = [self.python, "-m", "systems.dgl_partition", graph, output]

        def act():
            log = os.path.join(self.logs, f"{name}-{system}.log")
            seconds, peak = self.timed(command, log)
            self.put(system, name, value=seconds)
            self.put(system, name + "_memory", value=peak)
            if system == OURS:
                with open(log, encoding="utf-8") as said:
                    reading = re.search(r"([\d.]+) s of it reading", said.read())[1]
                self.put(system, name + "_reading", value=float(reading))

        self.guarded(system, [name, name + "_memory"], act)
        count = limits.size(output) if os.path.isdir(output) else 0
        limit = reading + limits.write_seconds(count, self.work)
        subprocess.run(["rm", "-rf", output], check=True)
        return limit

    # Servers.

    def bytes_per_edge(self, system, count):
        """Returns the bytes per edge of a graph that takes `count` bytes with features and labels."""
        label = 1 if system == OURS else 8  # graphd stores integers in as few bytes as they need
        features = self.shape["nodes"] * (4 * self.shape["columns"] + label)
        return (count - features) / self.shape["edges"]

    def server(self, system, parts):
        """Returns the servers of a system, not started."""
        config = self.partitioned(parts, "native" if system == OURS else "dgl")
        return (servers.Graphd(config, self.bin) if system == OURS
                else servers.Dgl(config, self.python))  # fmt: skip

    def started(self, system, name, server):
        """Records the time in which servers were ready."""
        self.put(system, name, value=server.start_seconds)
        if system == OURS:
            self.put(system, name + "_loading", value=server.loading_seconds())

    def served(self, system, module):
        """Measures servers and their trainers: on one machine, then on two over TCP."""
        more = ("loader_1", "loader_2", *PARTS) if system == OURS else ()
        to_two = [*OVER_TCP, *(PARTS_OVER_TCP if system == OURS else ())]

        def one():
            server = self.server(system, 1)
            folder = os.path.dirname(server.part_config)
            limits.read_seconds(limits.files_below(folder))
            self.put(
                system, "disk_per_edge", value=self.bytes_per_edge(system, limits.size(folder))
            )
            # A first start may get memory that a virtual machine has not used yet, which takes seconds.
            with self.server(system, 1):
                pass
            with server:
                self.started(system, "start", server)
                memory = self.bytes_per_edge(system, server.shared_bytes())
                self.put(system, "memory_per_edge", value=memory)
                self.trained(system, module, [*SERVED, *more, "epoch"], server)

        def cold():
            server = self.server(system, 1)
            limits.evict(os.path.dirname(server.part_config))
            with server:
                self.started(system, "start_cold", server)

        def two():
            with self.server(system, 2) as server:
                self.trained(system, module, to_two, server, over_tcp, GRAPHD_TRANSPORT="tcp")

        in_one = [*FRESH, *SERVED, *more, *EMBEDDING, "start", "memory_per_edge", "disk_per_edge",
                  "epoch"]  # fmt: skip
        self.guarded(system, in_one, one)
        self.guarded(system, ["start_cold"], cold)
        self.guarded(system, [over_tcp(name) for name in (*FRESH, *to_two)], two)

    def without_original_ids(self):
        """Measures the bytes that graphd stores per edge without the edge's id in the input. Files are
        measured, because memory has the same contents."""
        output = os.path.join(self.work, "without-original-ids")
        command = self.partition_command(self.graph, 1, "native", output)
        self.timed([*command, "--edge_orig_id", "no"], os.path.join(self.logs, "without-ids.log"))
        bytes_of_files = limits.size(output)
        subprocess.run(["rm", "-rf", output], check=True)
        self.put(OURS, "least_per_edge", value=self.bytes_per_edge(OURS, bytes_of_files))

    def restart(self):
        """Measures a restart of graphd under a service manager that keeps its descriptors."""
        sys.path.insert(0, os.path.join(ROOT, "tests", "integration", "restart"))
        from service_manager import ServiceManager

        server = self.server(OURS, 1)
        server.folder, server.ports = os.path.join(self.work, "restart"), servers.free_ports(1)
        os.makedirs(server.folder, exist_ok=True)
        manager = ServiceManager(server.folder)
        try:
            for _ in range(2):
                begin = time.perf_counter()
                with open(server.log(0), "w", encoding="utf-8") as log:
                    process = manager.start(*server.command(0), stdout=log, stderr=log)
                ready = manager.ready.wait(servers.READY_SECONDS)
                seconds = time.perf_counter() - begin
                process.terminate()
                process.wait()
                if not ready:
                    raise RuntimeError(f"graphd is not ready: {server.said(0)[-500:]}")
            self.put(OURS, "restart", value=seconds)
        finally:
            manager.close()
            subprocess.run(["rm", "-rf", server.folder], check=True)
