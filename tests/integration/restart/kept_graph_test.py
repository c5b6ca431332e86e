#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that a daemon takes over the graph that an earlier process left with its service manager,
and that it loads the graph again if the files or the descriptors are not the same any more."""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launch"))
from harness import DEADLINE, GRAPHCTL, SLOW, partition, wait_until
from restart_case import RestartCase
from wide_graph import write_wide_graph


class KeptGraphTest(RestartCase):
    def mapped(self):
        """Returns the numbers of the memory files that the daemon has mapped."""
        with open(f"/proc/{self.process.pid}/maps") as file:
            lines = [line.split(maxsplit=5) for line in file]
        return {line[4] for line in lines if len(line) == 6 and line[5].startswith("/memfd:")}

    def segments(self):
        return sorted(name for name in self.manager.kept if name.startswith("graph-segment-"))

    def assert_loaded(self, log, reason):
        self.assertRegex(log, reason)
        self.assertEqual(len(re.findall(r"partition \d of 'ring'", log)), 2, log)
        self.assertNotIn("took over", log)
        # The store has exactly the memory that the daemon uses.
        self.assertEqual({name.rsplit("-", 1)[1] for name in self.segments()}, self.mapped(), log)
        self.kill()
        self.assertIn("took over the graph", self.start())

    def test_a_killed_daemon_leaves_its_graph_to_the_next_process(self):
        first = self.start()
        self.assertIn("partition 1 of 'ring'", first)
        kept, mapped = self.segments(), self.mapped()
        self.assertGreaterEqual(len(kept), 4)
        for _ in range(3):
            self.kill()
            log = self.start()
            self.assertIn("took over the graph", log)
            self.assertNotIn("partition 1 of 'ring'", log)
            self.assertEqual((self.segments(), self.mapped()), (kept, mapped))

    def test_derived_arrays_are_kept_with_the_graph(self):
        first = self.start("--index", "out:_E")
        self.assertIn("made the out index", first)
        with_index = self.segments()
        self.kill()
        log = self.start("--index", "out:_E")
        self.assertIn("took over the graph", log)
        self.assertNotIn("made the out index", log)
        self.assertEqual(self.segments(), with_index)
        self.kill()
        self.assertIn("took over the graph", self.start())
        self.assertEqual(len(self.segments()), len(with_index) - 2, "one index of each partition")

    def test_changed_files_are_loaded_again(self):
        self.start()
        self.kill()
        os.utime(self.path("part1", "graph.seg"))
        self.assert_loaded(self.start(), "graph.seg has changed since it was loaded")

    def test_a_missing_descriptor_makes_the_daemon_load_again(self):
        self.start()
        self.kill()
        os.close(self.manager.kept.pop(self.segments()[1]))
        self.assert_loaded(self.start(), "was not passed")

    def test_a_graph_without_its_manifest_is_loaded_again(self):
        self.start()
        self.kill()
        os.close(self.manager.kept.pop("graph-manifest"))
        self.assert_loaded(self.start(), "it has no manifest")

    def test_other_memory_in_place_of_a_segment_is_refused(self):
        self.start()
        self.kill()
        name = self.segments()[0]
        os.close(self.manager.kept[name])
        self.manager.kept[name] = os.memfd_create("foreign")
        os.ftruncate(self.manager.kept[name], 1 << 20)
        self.assert_loaded(self.start(), "is not sealed")

    def test_a_damaged_manifest_is_refused(self):
        self.start()
        self.kill()
        for content in (b"", b"\xff" * 64, bytes(4096)):
            os.close(self.manager.kept["graph-manifest"])
            self.manager.kept["graph-manifest"] = manifest = os.memfd_create(
                "manifest", os.MFD_ALLOW_SEALING)
            os.write(manifest, content)
            seal(manifest)
            self.assert_loaded(self.start(), "which is loaded again")
            self.kill()

    def test_other_partitions_are_loaded(self):
        self.start()
        self.kill()
        log = self.start(parts="1")
        self.assertIn("it has other partitions", log)
        self.assertIn("partition 1 of 'ring'", log)
        self.assertNotIn("partition 0 of 'ring'", log)

    def switch(self, *part_config):
        return subprocess.run([GRAPHCTL, "server", "switch", *part_config, "--server_name", "ring",
                               "--runtime_dir", self.path("run")],
                              capture_output=True, text=True, timeout=10 * DEADLINE)

    def test_the_next_process_takes_over_the_graph_of_a_switch(self):
        self.start()
        before = set(self.segments())
        partition(self.path("next"), 2)
        done = self.switch(self.path("next", "ring.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until("the store to have the other graph", lambda: not before & set(self.segments()))
        wait_until("the manifest", lambda: "graph-manifest" in self.manager.kept)
        self.kill()
        log = self.start()
        self.assertIn("to which this server was switched", log)
        self.assertIn("took over the graph", log)
        self.assertEqual({name.rsplit("-", 1)[1] for name in self.segments()}, self.mapped(), log)
        # The note is obeyed until its file is removed.
        note, = [name for name in os.listdir(self.path("state", "ring"))
                 if name.endswith(".switched")]
        self.kill()
        shutil.rmtree(self.path("next"))
        self.begin("--listen", f"127.0.0.1:{self.port}")
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 3, self.log())
        self.assertIn(note, self.log())
        with open(self.path("state", "ring", note), "w") as file:
            file.write("nonsense")
        self.begin("--listen", f"127.0.0.1:{self.port}")
        self.assertEqual(self.process.wait(DEADLINE * SLOW), 9, self.log())
        os.remove(self.path("state", "ring", note))
        self.assertNotIn("switched", self.start())

    def test_a_graph_of_two_gigabytes_is_ready_at_once(self):
        partition_wide(self.folder, 2 << 30)
        self.start(parts="0")
        self.kill()
        times = []
        for _ in range(3):
            begin = time.monotonic()
            log = self.start(parts="0")
            times.append(time.monotonic() - begin)
            self.assertIn("took over the graph", log)
            self.kill()
        print(f"a graph of 2 GiB was ready after {min(times) * 1000:.0f} ms")
        self.assertLess(min(times), 0.2 * SLOW, times)

    def test_a_clean_end_keeps_the_graph_too(self):
        self.start()
        self.end(signal.SIGTERM)
        self.assertIn("took over the graph", self.start())


def partition_wide(folder, feature_bytes):
    """Partitions a graph whose features take so many bytes into `folder`, as ring.json."""
    subprocess.run([GRAPHCTL, "partition", "--input", write_wide_graph(folder, feature_bytes),
                    "--graph_name", "ring", "--num_parts", "1", "--part_method", "random",
                    "--output", folder, "--force"],
                   check=True, capture_output=True, timeout=10 * DEADLINE)


def seal(descriptor):
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS,
                fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)


if __name__ == "__main__":
    unittest.main()
