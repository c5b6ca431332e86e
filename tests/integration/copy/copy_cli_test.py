# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl copy on this machine: resulting files, repeated copies, rejected input."""

import filecmp
import gzip
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests/fixtures/dgl"
sys.path.insert(0, str(ROOT / "tests/integration/launch"))
from harness import (  # noqa: E402
    DEADLINE,
    GRAPHCTL,
    SLOW,
    GraphctlTest,
    start_partial_copy,
    wait_until,
)

OK, INVALID, NOT_FOUND, EXISTS, UNAVAILABLE, FULL, CORRUPT, DENIED = 0, 2, 3, 4, 5, 6, 9, 10


class CopyTest(GraphctlTest):
    """Copies the graph of GraphctlTest from its `workspace` to `target`."""

    def setUp(self):
        super().setUp()
        self.target = self.path("target")
        os.makedirs(self.path("scripts/sub"))
        self.write("scripts/train.py", "print(1)\n")
        self.write("scripts/sub/run.sh", "#!/bin/sh\n")
        os.chmod(self.path("scripts/sub/run.sh"), 0o755)

    def line(self, *more, part_config="ring.json", data="data"):
        return ("copy", "--part_config", part_config, "--ip_config", "ip.txt", "--workspace",
                self.target, "--rel_data_path", data, *more)

    def copy(self, *more, code=OK, **options):
        done = self.graphctl(*self.line(*more, **options))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def result(self, *more, code=OK, **options):
        """Returns the entry of the only host in the output of --json."""
        return json.loads(self.copy("--json", *more, code=code, **options).stdout)["hosts"][0]

    def files(self):
        """Returns all paths in the target, relative to it."""
        return sorted(os.path.relpath(os.path.join(folder, name), self.target)
                      for folder, _, names in os.walk(self.target) for name in names)

    def big_script(self, megabytes=200):
        """Writes a file that takes some time to copy."""
        with open(self.path("scripts/big.bin"), "wb") as out:
            for _ in range(megabytes):
                out.write(os.urandom(1 << 20))

    def start_big_copy(self):
        """Starts a copy and returns when part of the big script has been sent."""
        self.big_script()
        partial = os.path.join(self.target, "scripts/.big.bin.partial")
        process = start_partial_copy(lambda: self.start(*self.line("--script_folder", "scripts")),
                                     partial, 4 << 20, lambda: shutil.rmtree(self.target))
        return process, partial

    def assert_goes_on(self):
        host = self.result("--script_folder", "scripts")
        self.assertGreater(host["bytes_resumed"], 3 << 20)
        self.assertLess(host["bytes_sent"], 200 << 20)
        self.assertEqual(host["bytes_sent"] + host["bytes_resumed"], host["bytes_missing"])
        self.assertTrue(filecmp.cmp(self.path("scripts/big.bin"),
                                    self.target + "/scripts/big.bin", shallow=False))


class Copies(CopyTest):
    def test_files_arrive_under_their_paths_and_can_be_loaded(self):
        self.copy("--script_folder", "scripts")
        parts = [f"data/part{p}/{name}" for p in range(2)
                 for name in os.listdir(self.path(f"part{p}"))]
        self.assertEqual(self.files(), sorted(
            [*parts, "data/ring.json", "ip.txt", "scripts/sub/run.sh", "scripts/train.py"]))
        for name in parts:
            self.assertTrue(filecmp.cmp(self.path(name[5:]), f"{self.target}/{name}", False), name)
        self.assertEqual(os.stat(self.target + "/scripts/sub/run.sh").st_mode & 0o777, 0o755)
        self.assertEqual(self.graphctl("verify", self.target + "/data/ring.json").returncode, OK)
        job = self.graphctl("launch", "--server_name", "ring", "--workspace", self.target,
                            "--ip_config", "ip.txt", "--part_config", "data/ring.json",
                            "--", "true")
        self.assertEqual(job.returncode, OK, job.stderr)

    def test_a_second_copy_sends_nothing_and_a_change_sends_that_file(self):
        self.copy("--script_folder", "scripts")
        again = self.result("--script_folder", "scripts", "--verify")
        self.assertEqual((again["files_missing"], again["bytes_sent"]), (0, 0))
        self.write("scripts/train.py", "print(2)\n")
        os.chmod(self.path("scripts/sub/run.sh"), 0o700)
        changed = self.result("--script_folder", "scripts")
        self.assertEqual((changed["files_missing"], changed["bytes_sent"]), (1, 9))
        self.assertEqual(os.stat(self.target + "/scripts/sub/run.sh").st_mode & 0o777, 0o700)

    def test_damage_in_the_workspace_is_repaired(self):
        self.copy()
        broken = self.target + "/data/part1/graph.seg"
        with open(broken, "r+b") as file:
            file.seek(64)
            file.write(b"\xff")
        os.truncate(self.target + "/data/part0/partition.json", 5)
        self.assertEqual(self.result()["files_missing"], 2)
        self.assertTrue(filecmp.cmp(self.path("part1/graph.seg"), broken, shallow=False))

    def test_a_graph_can_be_copied_onto_itself(self):
        self.target = self.workspace
        host = self.result(data=".")
        self.assertEqual((host["files_missing"], host["files_same"]), (0, 10))

    def test_names_and_label_texts_arrive_beside_the_part_config(self):
        self.write("named.csv", "src,dst,of\nann,bob,red\nbob,carl,blue\ncarl,ann,red\n")
        done = self.graphctl("partition", "--input", "named.csv", "--graph_name", "named",
                             "--num_parts", "2", "--output", "named", "--part_method", "random")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.copy(part_config="named")
        for name in ("named._N.ids.txt.gz", "named._N:_E:_N.of.labels.txt.gz"):
            self.assertTrue(filecmp.cmp(self.path("named/" + name), self.target + "/data/" + name,
                                        shallow=False))

    def test_a_dry_run_shows_the_paths_and_writes_nothing(self):
        plan = json.loads(self.copy("--dry_run", "--json").stdout)
        targets = [file["target"] for file in plan["hosts"][0]["files"]]
        self.assertEqual(targets[-1], self.target + "/data/ring.json")
        self.assertIn("-> " + targets[0], self.copy("--dry_run").stdout)
        self.assertFalse(os.path.exists(self.target))

    def test_links_in_the_script_folder_are_followed(self):
        os.symlink("train.py", self.path("scripts/same.py"))
        os.symlink("sub", self.path("scripts/also"))
        self.copy("--script_folder", "scripts/")
        self.assertIn("scripts/also/run.sh", self.files())
        self.assertFalse(os.path.islink(self.target + "/scripts/same.py"))
        os.symlink("..", self.path("scripts/sub/loop"))
        self.assertIn("loop", self.copy("--script_folder", "scripts", code=INVALID).stderr)

    def test_progress_on_a_terminal_is_redrawn_and_ends_with_the_result(self):
        self.big_script(400)  # takes longer than the interval between two redraws
        main, side = pty.openpty()
        process = self.start(*self.line("--script_folder", "scripts"), stderr=side)
        os.close(side)
        text = b""
        try:
            while True:
                text += os.read(main, 65536)
        except OSError:  # the terminal was closed
            os.close(main)
        self.assertEqual(process.wait(DEADLINE * SLOW), OK)
        self.assertIn(b"\x1b[1A", text)
        self.assertIn(b"127.0.0.1: sent ", text.splitlines()[-1])


class DglPartitions(CopyTest):
    def dgl(self, name):
        """Returns a fixture's part config; writes ip.txt with a line for each partition."""
        for folder, _, names in os.walk(FIXTURES / name):
            to = os.path.join(self.path(name), os.path.relpath(folder, FIXTURES / name))
            os.makedirs(to, exist_ok=True)
            for file in names:
                unpack = gzip.open if file.endswith(".gz") else open
                target = os.path.join(to, file.removesuffix(".gz"))
                with unpack(f"{folder}/{file}", "rb") as source, open(target, "wb") as out:
                    out.write(source.read())
        (config,) = {f for f in os.listdir(self.path(name)) if f.endswith(".json")
                     } - {"expected.json"}
        parts = json.loads(self.read(f"{name}/{config}"))["num_parts"]
        self.write("ip.txt", "".join(f"127.0.0.1\t {31000 + p}\n" for p in range(parts)))
        return f"{name}/{config}"

    def test_dgls_partitions_arrive_and_can_be_loaded(self):
        for name in ("hetero_2p", "legacy091_hetero_2p", "legacy091_noreshuffle_2p"):
            with self.subTest(name):
                config = self.dgl(name)
                self.copy(part_config=config, data="d/" + name)
                copied = f"{self.target}/d/{name}/{os.path.basename(config)}"
                shutil.rmtree(self.path(name))
                done = self.graphctl("verify", copied)
                self.assertEqual(done.returncode, OK, done.stdout + done.stderr)

    def test_graphbolts_files_and_original_ids_are_copied_with_their_partition(self):
        config = self.dgl("hetero_2p")
        root = json.loads(self.read(config))
        for part in range(2):
            entry = root[f"part-{part}"]
            directory = os.path.dirname(os.path.join("hetero_2p", entry.pop("part_graph")))
            entry["part_graph_graphbolt"] = f"part{part}/fused.pt"
            self.write(f"{directory}/fused.pt", "a pickle")
            self.write(f"{directory}/orig_nids.dgl", "ids")
        self.write(config, json.dumps(root))
        self.copy(part_config=config)
        for part in range(2):
            self.assertIn(f"data/part{part}/fused.pt", self.files())
            self.assertIn(f"data/part{part}/orig_nids.dgl", self.files())


    def test_truncated_files_are_found_before_anything_is_sent(self):
        config = self.dgl("hetero_2p")
        graph = self.path("hetero_2p/part1/graph.dgl")
        os.truncate(graph, os.path.getsize(graph) // 2)
        self.assertIn("part1/graph.dgl", self.copy(code=CORRUPT, part_config=config).stderr)
        self.assertFalse(os.path.exists(self.target))


class Interruptions(CopyTest):
    def test_a_killed_copy_continues_where_it_stopped(self):
        process, partial = self.start_big_copy()
        process.send_signal(signal.SIGKILL)
        wait_until("its helper to end", lambda: not self.left())
        self.assertTrue(os.path.exists(partial))
        self.assert_goes_on()
        self.assertFalse(os.path.exists(partial))

    def test_an_interrupted_copy_says_how_to_continue(self):
        process, _ = self.start_big_copy()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(process.returncode, 130)
        self.assertIn("run the same command again", err)
        self.assertEqual(self.left(), [])
        self.assert_goes_on()

    def test_a_killed_helper_is_an_error_that_names_the_host(self):
        process, _ = self.start_big_copy()
        (helper,) = [pid for pid, command in self.left() if command.endswith("receive")]
        os.kill(helper, signal.SIGKILL)
        _, err = process.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(process.returncode, UNAVAILABLE)
        self.assertIn("127.0.0.1: its graphctl ended before the copy was complete", err)
        self.assert_goes_on()

    def test_a_helper_that_hangs_is_given_up(self):
        self.big_script()
        process = self.start(*self.line("--script_folder", "scripts", "--stall_timeout", "1"))
        ((helper, _),) = wait_until("the helper", lambda: [
            each for each in self.left() if each[1].endswith("receive")])
        os.kill(helper, signal.SIGSTOP)
        _, err = process.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(process.returncode, UNAVAILABLE)
        self.assertIn("made no progress for 1 s", err)
        self.assertEqual(self.left(), [])

    def test_a_partial_copy_of_another_file_is_not_used(self):
        process, _ = self.start_big_copy()
        process.send_signal(signal.SIGKILL)
        wait_until("its helper to end", lambda: not self.left())
        with open(self.path("scripts/big.bin"), "r+b") as file:
            file.write(b"changed")
        host = self.result("--script_folder", "scripts")
        self.assertEqual((host["bytes_resumed"], host["bytes_sent"]), (0, host["bytes_missing"]))


class Refusals(CopyTest):
    def assert_refused(self, code, *words, more=(), **options):
        done = self.copy(*more, code=code, **options)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(self.target + "/data"), "the copy has written files")

    def test_all_missing_files_are_named_together(self):
        os.remove(self.path("part0/graph.seg"))
        os.remove(self.path("part1/node_feat.seg"))
        self.assert_refused(NOT_FOUND, "part0/graph.seg", "part1/node_feat.seg")

    def test_damage_is_found_before_anything_is_sent(self):
        os.truncate(self.path("part1/graph.seg"), 10)
        self.assert_refused(CORRUPT, "part1/graph.seg")

    def test_a_damaged_array_is_found_by_its_checksum(self):
        with open(self.path("part1/graph.seg"), "r+b") as file:
            byte = file.read(1)
            file.seek(0)
            file.write(bytes([byte[0] ^ 1]))
        self.assert_refused(CORRUPT, "part1/graph.seg", "checksum")

    def test_verify_finds_errors_that_checksums_miss(self):
        # The padding between two arrays belongs to neither.
        header = json.loads(self.read("part0/partition.json"))
        arrays = [a for s in header["segments"] if s["file"] == "graph.seg" for a in s["arrays"]]
        gap = min(a["offset"] + a["bytes"] for a in arrays)
        self.assertNotIn(gap, [a["offset"] for a in arrays])
        with open(self.path("part0/graph.seg"), "r+b") as file:
            file.seek(gap)
            file.write(b"x")
        self.assert_refused(CORRUPT, "part0/graph.seg", more=("--verify",))

    def test_invalid_options(self):
        self.assert_refused(INVALID, "--rel_data_path", data="../elsewhere")
        self.assert_refused(INVALID, "--rel_data_path", data="/data")
        self.assert_refused(NOT_FOUND, "--script_folder", more=("--script_folder", "none"))
        self.assert_refused(NOT_FOUND, "none.json", part_config="none.json")
        self.write("ip.txt", "127.0.0.1\n")
        self.assert_refused(INVALID, "1 lines", "2 partitions")

    def test_names_that_can_not_be_sent_unchanged(self):
        with open(os.path.join(self.path("scripts").encode(), b"a\xff.py"), "w"):
            pass
        self.assert_refused(INVALID, "UTF-8", more=("--script_folder", "scripts"))

    def test_no_link_is_followed_out_of_the_workspace(self):
        os.makedirs(self.path("outside"))
        os.makedirs(self.target)
        os.symlink(self.path("outside"), self.target + "/data")
        done = self.copy(code=DENIED)
        self.assertIn("symbolic link", done.stderr)
        self.assertIn("nothing was sent", done.stderr)
        self.assertEqual(os.listdir(self.path("outside")), [])

    def test_a_full_disk_is_rejected_with_needed_and_free_space(self):
        self.big_script(20)
        os.makedirs(self.target)
        script = 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", self.target, GRAPHCTL,
             *self.line("--script_folder", "scripts")], cwd=self.workspace, env=self.environment,
            capture_output=True, text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, FULL, done.stderr)
        for word in ("127.0.0.1: " + self.target, "are needed", "8.0 MiB", "are free"):
            self.assertIn(word, done.stderr)

    def test_two_copies_into_one_workspace_at_a_time(self):
        process, _ = self.start_big_copy()
        process.send_signal(signal.SIGSTOP)
        try:
            # The second copy waits for the first one; afterwards it has nothing left to send.
            second = self.start(*self.line("--script_folder", "scripts", "--json"))
            wait_until("the second's helper", lambda: len(
                [1 for _, command in self.left() if command.endswith("receive")]) == 2)
        finally:
            process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(DEADLINE * SLOW), OK)
        out, err = second.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(second.returncode, OK, err)
        self.assertEqual(json.loads(out)["hosts"][0]["bytes_sent"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
