# SPDX-License-Identifier: Apache-2.0
"""Tests the verbs by which operators change and check what a daemon has been told: graphctl server
log_level, server reload and config check. The daemon has a configuration file, like a service."""

import json
import os
import shutil
import subprocess
import unittest

from harness import BIN, DEADLINE, GRAPHCTL, SLOW, GraphctlTest, partition, wait_until

SERVER = ("--server_name", "ring")


class Configuration(GraphctlTest):
    def setUp(self):
        super().setUp()
        self.host = f"127.0.0.1:{self.ports[0]}"
        # The daemon serves both partitions.
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]}\n" * 2)
        self.file = self.path("ring.conf")
        self.lines = [f'part_config = "{self.path("ring.json")}"', "part_id = [0, 1]",
                      f"port = {self.ports[0]}", f'log_file = "{self.path("log")}"']

    def configure(self, *lines, name="ring.conf"):
        """Writes a configuration file with these lines after the usual ones."""
        self.write(name, "".join(line + "\n" for line in (*self.lines, *lines)))
        return self.path(name)

    def start_daemon(self, *lines):
        self.configure(*lines)
        daemon = subprocess.Popen([os.path.join(BIN, "graphd"), "--config", self.file, *SERVER],
                                  env=self.environment)
        self.started.append(daemon)
        log = self.path("log")
        wait_until("the daemon to serve", lambda: daemon.poll() is not None or
                   (os.path.exists(log) and "serving 'ring'" in self.read(log)))
        self.assertIsNone(daemon.poll())

    def succeed(self, *arguments):
        done = self.graphctl(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_refused(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def attach_a_tool(self):
        """Lets a job of graphctl attach, which the daemon tells at level debug only."""
        self.succeed("checkpoint", "list", *SERVER, "--ip_config", "ip.txt")

    def debug_lines(self, text=""):
        return [line for line in self.read("log").splitlines()
                if " debug " in line and text in line]

    def test_the_level_of_the_log_is_set_while_the_daemon_runs(self):
        self.start_daemon()
        self.attach_a_tool()
        self.assertEqual(self.succeed("server", "log_level", "debug", *SERVER),
                         f"{self.host}: logs at level debug, was info\n")
        self.assertEqual(self.debug_lines(), [])
        self.attach_a_tool()
        wait_until("the job's debug lines", lambda: self.debug_lines("has attached") and
                   self.debug_lines("has left"))
        (answer,) = json.loads(self.succeed("server", "log_level", "info", *SERVER, "--json"))
        self.assertEqual((answer["host"], answer["ok"], answer["before"]),
                         (self.host, True, "debug"))
        before = self.debug_lines()
        self.attach_a_tool()
        # Lines of level info are written still, and after those that are left out.
        self.succeed("server", "drain", *SERVER, "--reason", "after the job")
        wait_until("the drain's line", lambda: "(after the job)" in self.read("log"))
        self.assertEqual(self.debug_lines(), before)
        self.assert_refused(self.graphctl("server", "log_level", "loud", *SERVER), 2, "loud",
                            "debug")
        self.assertIn("was info", self.succeed("server", "log_level", "error", *SERVER))
        # A reload takes the level of the file again.
        self.assertIn("log_level: 'info', was 'error'", self.succeed("server", "reload", *SERVER))

    def test_a_reload_tells_what_has_changed_and_refuses_a_faulty_file(self):
        self.start_daemon()
        (pid,) = self.daemons()
        nothing = f"{self.host}: reloaded; nothing differs\n"
        self.assertEqual(self.succeed("server", "reload", *SERVER), nothing)
        self.configure("max_connections = 77", "num_servers = 1000")
        self.assertEqual(
            self.succeed("server", "reload", *SERVER).splitlines(),
            [f"{self.host}: reloaded",
             f"  num_servers: '1000', was '{len(os.sched_getaffinity(0))}' ({self.file}:6); "
             "NEEDS A RESTART",
             f"  max_connections: '77', was '4096' ({self.file}:5)"])
        self.configure("write_timeout = 33", "max_connections = 77")
        (answer,) = json.loads(self.succeed("server", "reload", *SERVER, "--json"))
        self.assertEqual(answer["changes"], [
            {"key": "write_timeout", "before": "600", "after": "33", "needs_restart": False,
             "place": f"{self.file}:5"}])
        self.assertEqual(self.succeed("server", "reload", *SERVER), nothing)

        for line, text in (
                ("max_conections = 3", "'max_conections' is not an option of graphd; did you mean "
                 "max_connections?"),
                ('max_connections = "many"', "--max_connections"),
                ('allow_read = ["user:no-such-user"]', "allow_read"),
                ("write_timeout = 0", "--write_timeout")):
            with self.subTest(line):
                self.configure('log_level = "error"', "# The next line is faulty.", line)
                done = self.graphctl("server", "reload", *SERVER)
                self.assert_refused(done, 2, self.host, f"{self.file}:7: ", text)
                self.assertEqual(done.stdout, "")
        # The daemon is as it was, even in what the faulty files have set before the fault.
        self.configure("write_timeout = 33", "max_connections = 77")
        self.assertEqual(self.succeed("server", "reload", *SERVER), nothing)
        self.assertIn("was info", self.succeed("server", "log_level", "info", *SERVER))
        self.assertEqual(self.daemons(), [pid])
        os.unlink(self.file)
        gone = self.graphctl("server", "reload", *SERVER)
        self.assertNotEqual(gone.returncode, 0)
        self.assertIn(self.file, gone.stderr)
        self.attach_a_tool()

    def test_words_that_graphd_does_not_know_are_refused_with_a_remedy(self):
        self.configure()
        for words, said in (
                ((self.file,), f"'{self.file}' is not preceded by an option; write --config "
                               f"{self.file} if"),
                (("--part_confg", "ring.json"), "'--part_confg' is not an option of graphd; did you "
                                                "mean --part_config?")):
            done = subprocess.run([os.path.join(BIN, "graphd"), *words], capture_output=True,
                                  text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_check_names_the_file_line_and_key_of_each_mistake(self):
        self.configure()
        self.assertRegex(self.succeed("config", "check", self.file),
                         rf"^{self.file}: ok, 'ring' serves 2 of 2 partitions of 'ring', .*B\n$")
        for line, text in (
                ("max_conections = 3", "'max_conections' is not an option of graphd; did you mean "
                 "max_connections?"),
                ('peer_memory = "1KiB"', "--peer_memory 1.0 KiB is too small"),
                ('index = ["out:none"]', "index: "),
                ('allow_operate = ["group:no-such-group"]', "allow_operate: "),
                ('metrics = "0.0.0.0:9100"', "metrics: ")):
            with self.subTest(line):
                self.configure("", line)
                done = self.graphctl("config", "check", self.file)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"{self.file}:6: ", done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")
        # Each mistake of each file is named, and a file without one is still said to be well.
        self.configure()
        other = self.configure('weight = ["user:no-such-user=2"]', 'index = ["out:none"]',
                               name="other.conf")
        done = self.graphctl("config", "check", other, self.file)
        self.assert_refused(done, 3, f"{other}:5: weight: ", f"{other}:6: index: ")
        self.assertIn(f"{self.file}: ok", done.stdout)
        self.lines[0] = f'part_config = "{self.path("none.json")}"'
        self.configure()
        self.assert_refused(self.graphctl("config", "check", self.file), 3,
                            f"{self.file}:1: part_config: ", "none.json")
        self.assert_refused(self.graphctl("config", "check", "none.conf"), 3, "none.conf")

    def test_a_faulty_file_that_a_check_finds_leaves_the_daemon_alone(self):
        self.start_daemon()
        self.configure("max_conections = 3")
        log = self.read("log")
        self.assert_refused(self.graphctl("config", "check", self.file), 2, f"{self.file}:5: ")
        self.assertEqual(self.read("log"), log)
        self.attach_a_tool()

    def test_a_switch_needs_room_for_the_indexes_of_both_versions(self):
        for folder in ("large", "next"):
            os.mkdir(self.path(folder))
            partition(self.path(folder), 2, nodes=100_000)
        self.lines[0] = f'part_config = "{self.path("large/ring.json")}"'
        here = (*SERVER, "--ip_config", "ip.txt")
        index = 'index = ["out:_E"]'
        self.start_daemon(index)
        shown = json.loads(self.succeed("server", "status", *here, "--json"))
        needed = sum(part["index_bytes"] for part in shown[0]["status"]["partitions"])
        self.assertGreater(needed, 1 << 20)
        switch = ("server", "switch", self.path("next/ring.json"), *here)
        for memory, is_enough in ((needed * 3 // 2, False), (needed * 5 // 2, True)):
            self.configure(index, f"index_memory = {memory}")
            self.succeed("server", "reload", *SERVER)
            done = self.graphctl(*switch)
            if is_enough:
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assert_refused(done, 6, "give graphd a larger --index_memory")

    def test_files_that_a_user_may_not_read_do_not_count_as_changed(self):
        self.start_daemon('allow_operate = ["all"]')
        start = ("server", "start", *SERVER, "--ip_config", "ip.txt", "--part_config", "ring.json",
                 "--runtime_dir", self.runtime)
        segments = [os.path.join(folder, name) for part in ("part0", "part1")
                    for folder, _, names in os.walk(self.path(part)) for name in names]
        for segment in segments:
            os.utime(segment, (1, 1))
        self.assertIn("have changed since", self.succeed(*start))
        for folder, _, _ in os.walk(self.workspace):
            os.chmod(folder, 0o755)
        tool = shutil.copy(GRAPHCTL, self.path("graphctl"))  # the build may be in a private folder

        def start_as_nobody():
            return subprocess.run([tool, *start], cwd=self.workspace, env=self.environment,
                                  capture_output=True, text=True, timeout=DEADLINE * SLOW,
                                  user=65534, group=65534, extra_groups=[])
        done = start_as_nobody()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("have changed since", done.stdout)
        for part in ("part0", "part1"):
            os.chmod(self.path(part), 0)
        done = start_as_nobody()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was already running\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
