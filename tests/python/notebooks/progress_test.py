# SPDX-License-Identifier: Apache-2.0
"""Tests which progress bars are shown, and where. Each case is a process of its own, whose standard
error is a terminal or a pipe."""

import itertools
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import support
from graphd import progress
from graphd.distributed import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from graphd.sampling import BlockSampler, NeighborSampler

SLOW = """
import time
from graphd import progress
print(time.monotonic())
for _ in progress.bar(range(22), "slow steps"):
    time.sleep(0.1)
"""
QUICK = """
from graphd import progress
progress._SECONDS = 0
list(progress.bar(range(5), "quick steps"))
"""
AT_ONCE = """
import graphd
from graphd import progress
from graphd.distributed import DistGraph, DistTensor, elementwise, partition_graph
graphd.use("numpy")  # importing torch would take longer than all the rest
progress._SECONDS = 0
elementwise._PIECE_ELEMENTS = 1 << 10
"""


def on_terminal(code, **environment):
    """Returns what a program writes to standard error, which is a terminal."""
    return run_on_terminal(code, **environment)[0]


def run_on_terminal(code, **environment):
    """Returns what a program writes to standard error, which is a terminal, the time of each piece,
    and what it writes to standard output."""
    main, terminal = pty.openpty()
    shown, times = [], []

    def read():
        try:
            while chunk := os.read(main, 4096):
                times.append(time.monotonic())
                shown.append(chunk.decode())
        except OSError:  # Linux reports a closed terminal this way
            pass

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=60,
    )
    os.close(terminal)
    reader.join()
    os.close(main)
    assert done.returncode == 0, "".join(shown)
    return "".join(shown), times, done.stdout.decode()


class Bars(unittest.TestCase):
    def test_a_bar_appears_after_two_seconds_on_a_terminal(self):
        shown, times, begin = run_on_terminal(SLOW)
        self.assertRegex(shown, r"slow steps:\s+\d+%")
        self.assertGreaterEqual(times[0] - float(begin), 2)
        self.assertEqual(on_terminal(SLOW.replace("range(22)", "range(2)")), "")

    def test_no_bar_is_shown_where_nobody_looks_or_wants_it(self):
        self.assertIn("quick steps", on_terminal(QUICK))
        done = subprocess.run([sys.executable, "-c", QUICK], capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(on_terminal(QUICK, GRAPHD_PROGRESS="0"), "")

    def test_no_bar_is_shown_without_tqdm(self):
        self.assertEqual(on_terminal("import sys; sys.modules['tqdm'] = None\n" + QUICK), "")

    def test_a_clock_counts_the_seconds_of_a_single_call(self):
        code = "import time\nfrom graphd import progress\nwith progress.clock('a call'):\n"
        shown = on_terminal(code + "    time.sleep(2.1)")
        self.assertRegex(shown, r"a call: ([2-9]|\d\d) s")
        self.assertTrue(shown.endswith("\r"), "the clock was not removed")
        self.assertEqual(on_terminal(code + "    pass"), "")

    def test_a_clock_within_another_one_is_not_shown(self):
        code = """
import time
from graphd import progress
progress._SECONDS = 0
for name in ("first", "second"):
    with progress.clock(name), progress.clock("inner"):
        time.sleep(0.3)
"""
        shown = on_terminal(code)
        self.assertRegex(shown, "first: 0 s.*second: 0 s")
        self.assertNotIn("inner", shown)


class Calls(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_comparisons_and_reads_of_whole_tensors(self):
        config = support.fixture(self.fixture).config
        shown = on_terminal(
            f"{AT_ONCE}\nfeat = DistGraph(part_config={config!r}).ndata['feat']\n"
            "elementwise._PIECE_ELEMENTS = 1 << 6\n"
            "feat == 0\n"
            "feat.count_nonzero()\n"
            "7 in feat\n"
        )
        self.assertGreaterEqual(shown.count("reading 'feat'"), 3)

    def test_changes_of_many_rows(self):
        config = support.fixture(self.fixture).config
        code = f"""{AT_ONCE}
import numpy, threading
g = DistGraph(part_config={config!r})
rows = numpy.ones((g.num_nodes(), 4), "float32")
tensor = DistTensor(rows.shape, "float32", "changed")
"""
        wait = """
is_made, make, change = threading.Event(), progress._made, DistTensor._change
def made(**options):
    is_made.set()
    return make(**options)
def late(*arguments):
    assert is_made.wait(30)
    change(*arguments)
progress._made, DistTensor._change = made, late
"""
        for change in ("tensor[:] = rows", "tensor.add(slice(None), rows)"):
            self.assertRegex(on_terminal(code + wait + change), r"writing 'changed': \d+ s")
        self.assertNotIn("writing", on_terminal(f"{code}tensor[:9] = rows[:9]"))

    def test_results_of_inference(self):
        config = support.fixture(self.fixture).config
        code = f"""{AT_ONCE}
import numpy, tempfile
g = DistGraph(part_config={config!r})
scores = DistTensor((g.num_nodes(), 4), "float32", "scores")
"""
        for call, description in (
            ("evaluate(g, scores, batch_size=20)", "evaluating 'test_mask'"),
            ("predict_edges(g, scores, [1] * 99, [2] * 99, batch_size=9)", "scoring pairs"),
            ("export(g, scores, tempfile.mktemp('.npy'))", "exporting 'scores'"),
        ):
            self.assertRegex(
                on_terminal(f"{code}graphd.inference.{call}"), rf"{description}:\s+\d+%"
            )

    def test_counts_of_accesses(self):
        config = support.fixture(self.fixture).config
        code = f"""{AT_ONCE}
from graphd.distributed import DistNodeDataLoader, nodes_by_access
g = DistGraph(part_config={config!r})
sampler = graphd.sampling.NeighborSampler([2])
loader = DistNodeDataLoader(g, list(range(300)), sampler, batch_size=30)
"""
        for arguments, total in (
            ("loader", "10"),
            ("loader, 5, None, 4", "4"),
            ("iter(loader)", ""),
        ):
            arguments = arguments if "," in arguments else f"{arguments}, 5"
            shown = on_terminal(f"{code}nodes_by_access(g, {arguments})")
            self.assertRegex(shown, rf"counting accesses:.* \d+(/{total}|it) \[")

    def test_reads_of_degrees(self):
        config = support.fixture(self.fixture).config
        code = f"{AT_ONCE}\ng = DistGraph(part_config={config!r})\n"
        for call, description, total in (
            (
                "graphd.distributed.nodes_by_degree(g, 5, everywhere=True)",
                "reading out-degrees",
                1500,
            ),
            ("from graphd import plot\nplot.degrees(g)", "reading degrees", 1),
        ):
            shown = on_terminal(code + call, MPLBACKEND="Agg")
            self.assertRegex(shown, rf"{description}:.* \d+/{total} \[")

    def test_inference(self):
        config = support.fixture(self.fixture).config
        code = (
            f"{AT_ONCE}\ng = DistGraph(part_config={config!r})\n"
            "layers = [lambda block, h: h[:block.num_dst_nodes()]] * 2\n"
            "graphd.inference.layerwise(g, layers, 'feat', batch_size=20"
        )
        self.assertIn("computing 'inference'", on_terminal(f"{code})"))
        self.assertNotIn("computing", on_terminal(f"{code}, progress=lambda done, total: None)"))

    def test_partitioning_and_checkpoints(self):
        daemons = self.daemons()
        code = f"""{AT_ONCE}
import numpy, tempfile
ends = numpy.random.default_rng(0).integers(0, 50000, (2, 500000))
with tempfile.TemporaryDirectory() as folder:
    partition_graph(tuple(ends), "mine", 2, folder, part_method="random")
graphd.distributed.initialize({daemons.ip_config!r}, server_name={daemons.server_name!r})
g = DistGraph()
tensor = DistTensor((g.num_nodes(), 4), "float32", "kept", persistent=True)
graphd.checkpoint.create(g, "first")
graphd.checkpoint.restore(g, "first")
"""
        shown = on_terminal(code, GRAPHD_RUNTIME_DIR=daemons.runtime)
        self.assertRegex(shown, r"writing partitions:\s+\d+%.*B/s")
        self.assertNotRegex(shown, "it/s")
        for description in (
            "making checkpoint 'first': 0 s",
            "restoring checkpoint 'first': 0 s",
        ):
            self.assertIn(description, shown)

    def test_waiting_for_servers(self):
        code = """
import graphd
try:
    {}
except graphd.errors.UnavailableError:
    pass
"""
        with tempfile.TemporaryDirectory() as runtime:
            ip_config = os.path.join(runtime, "ip_config.txt")
            with open(ip_config, "w", encoding="utf-8") as file:
                file.write("127.0.0.1\n")
            options = f"ip_config={ip_config!r}, server_name='late', timeout=3"
            for call in ("graphd.connect", "graphd.distributed.initialize"):
                shown = on_terminal(code.format(f"{call}({options})"), GRAPHD_RUNTIME_DIR=runtime)
                self.assertRegex(shown, r"connecting to server 'late': ([2-9]|\d\d) s")

    def test_calls_that_may_build_an_index_or_have_many_items(self):
        config = support.fixture(self.fixture).config
        code = f"""{AT_ONCE}
import threading
from graphd import _graphd
from graphd.distributed import DistNodeDataLoader, node_split
from graphd.sampling import NeighborSampler, random_walk, node2vec_random_walk
g = DistGraph(part_config={config!r})
sampler = NeighborSampler([2])
loader = DistNodeDataLoader(g, list(range(30)), sampler, batch_size=3)
is_shown, make = threading.Event(), progress._made
def made(**options):
    is_shown.set()
    return make(**options)
progress._made = made
def delay(holder, name):
    call = getattr(holder, name)
    def late(*arguments):
        assert is_shown.wait(30)
        return call(*arguments)
    setattr(holder, name, late)
delay(_graphd, "walk_length"), delay(_graphd, "walk_node2vec"), delay(_graphd, "sample_edges")
delay(_graphd, "create_tensor"), delay(_graphd.NodeLoader, "next"), delay(_graphd.Sampler, "sample")
for name in ("find_edges", "has_edges_between", "degrees", "split_feature"):
    delay(_graphd.Graph, name)
"""
        calls = (
            ("random_walk(g, [1, 2], length=3)", "walking"),
            ("node2vec_random_walk(g, [1, 2], 1, 1, 3)", "walking"),
            ("graphd.distributed.sample_neighbors(g, [1], 2)", "sampling edges"),
            ("g.find_edges([1])", "finding edges"),
            ("g.has_edges_between([1], [2])", "looking for edges"),
            ("g.out_degrees([1])", "counting out-degrees"),
            ("node_split(g.ndata['train_mask'])", "dividing nodes"),
            ("DistTensor((g.num_nodes(),), name='made')", "making 'made'"),
            ("list(loader)", "making the first batch"),
            ("sampler.sample(g, [1])", "sampling a batch"),
        )
        for call, _ in calls:
            code += f"is_shown.clear()\ng.calls = progress.Calls()\n{call}\n"
        descriptions = "|".join(description for _, description in calls)
        shown = re.findall(rf"({descriptions}): \d+ s", on_terminal(code))
        self.assertEqual(
            [text for text, _ in itertools.groupby(shown)], descriptions.split("|")[1:]
        )

    def test_a_later_call_of_few_items_has_no_clock(self):
        calls = progress.Calls()
        with unittest.mock.patch.object(progress, "clock") as clock:
            for items in (1, 2, 1 << 20, 3):
                calls.clock("walking", items)
            calls.clock("finding", 1)
        self.assertEqual(
            [each.args[0] for each in clock.call_args_list], ["walking"] * 2 + ["finding"]
        )


class Same(BlockSampler):
    """A sampler that is written in Python."""

    def sample(self, g, seed_nodes, exclude_eids=None):
        return NeighborSampler([2]).sample(g, seed_nodes)


class Loaders(support.GraphTest):
    fixture = "sbm_2p_metis"

    def test_tqdm_counts_the_batches_of_every_loader(self):
        from tqdm import tqdm

        g = self.standalone()
        nodes, sampler = list(range(g.num_nodes() - 1)), NeighborSampler([2])
        edges = list(range(301))
        for loader in (
            DistNodeDataLoader(g, nodes, sampler, batch_size=7),
            DistNodeDataLoader(g, nodes, sampler, batch_size=7, drop_last=True),
            DistNodeDataLoader(g, nodes, Same(), batch_size=7),
            DistEdgeDataLoader(g, edges, sampler, batch_size=50),
            DistDataLoader(nodes, 7, drop_last=True),
            DistDataLoader(nodes, 7),
        ):
            for _ in range(2):
                with open(os.devnull, "w") as nowhere:
                    shown = tqdm(loader, file=nowhere)
                    for _ in shown:
                        pass
                self.assertEqual((shown.n, shown.total), (len(loader), len(loader)))
                self.assertGreater(shown.n, 0)


if __name__ == "__main__":
    support.main()
