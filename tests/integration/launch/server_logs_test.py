# SPDX-License-Identifier: Apache-2.0
"""Tests `graphctl server logs` with two daemons on this machine, whose logs are files; the journal
is tested where systemd runs (tests/integration/systemd), and other machines in tests/cluster."""

import json
import os
import re
import signal
import unittest

from harness import SLOW, GraphctlTest, read_line, wait_until

HERE = ("--server_name", "ring", "--ip_config", "ip.txt")
LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[([^]]*)\] (\w+) (.*)")


class ServerLogs(GraphctlTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.hosts = [f"127.0.0.1:{port}" for port in self.ports]

    def log(self, number):
        return os.path.join(self.runtime, "ring", f"{self.ports[number]}.log")

    def server(self, *arguments):
        done = self.graphctl("server", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def records(self, *arguments, where=HERE):
        """Returns what is shown as (time, host, level, text)."""
        shown = self.server("logs", *where, *arguments).splitlines()
        return [LINE.fullmatch(line).groups() for line in shown if not line.startswith("    ")]

    def test_records_of_all_daemons_are_merged_by_time(self):
        for reason in ("first", "second", "third"):
            self.server("drain", *HERE, "--reason", reason)
            self.server("undrain", *HERE)
        with open(self.log(0), "a") as log:
            log.write("2999-01-01T00:00:00.000+00:00 error the last one\n    of two lines\n")
        with open(self.log(1), "a") as log:
            log.write("2998-12-31T23:59:59.500-00:30 warning not the last one\n")

        records = self.records()
        self.assertEqual(records, sorted(records, key=lambda record: record[0]))
        drained = [(record[1], record[3][-7:]) for record in records if "drains this" in record[3]]
        self.assertEqual(len(drained), 6, records)
        self.assertEqual(set(drained[:2]), {(host, "(first)") for host in self.hosts})
        self.assertEqual(set(drained[4:]), {(host, "(third)") for host in self.hosts})
        self.assertEqual([record[3] for record in records[-2:]], ["the last one", "not the last one"])
        self.assertEqual([record[2] for record in records[-2:]], ["error", "warning"])
        self.assertIn("    of two lines\n", self.server("logs", *HERE))

        # Options choose records.
        self.assertEqual([r[3] for r in self.records("--level", "error")], ["the last one"])
        self.assertEqual(len(self.records("--level", "warning")), 2)
        last = self.records("-n", "1")
        self.assertEqual([record[3] for record in last], ["the last one", "not the last one"])
        self.assertEqual(self.records("--since", "1h"), records)
        self.assertEqual(self.records("--since", "2998-12-30"), records[-2:])
        objects = [json.loads(line) for line in self.server("logs", *HERE, "--json").splitlines()]
        self.assertEqual([(o["host"], o["level"]) for o in objects], [r[1:3] for r in records])
        self.assertEqual(objects[-2]["text"], "the last one\nof two lines")
        self.assertEqual(objects[-1]["time"], 32472144000 + 1799.5)

        # On a host of the server, no ip_config is needed.
        here = self.records(where=("--server_name", "ring"))
        self.assertEqual([record[1] for record in here], ["here"] * len(records))
        # Records of the same millisecond come in the order of their sources, which are others now.
        self.assertEqual(sorted((r[0], r[3]) for r in here), sorted((r[0], r[3]) for r in records))

        # Logs outlive the daemons.
        self.stop_server()
        stopped = self.records()
        self.assertEqual(sorted(record[1] for record in stopped if record[3] == "stopping"),
                         sorted(self.hosts))
        self.assertGreater(len(stopped), len(records))

        for arguments, code, text in (
                ((*HERE, "--since", "yesterday"), 2, "15min"),
                ((*HERE, "--level", "loud"), 2, "--level"),
                (("--server_name", "../ring"), 2, "../ring")):
            done = self.graphctl("server", "logs", *arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
        empty = self.graphctl("server", "logs", "--server_name", "nobody")
        self.assertEqual(empty.stdout, "")
        self.assertIn("nobody", empty.stderr)

    def test_logs_are_followed_and_a_host_that_is_lost_holds_up_nobody(self):
        follower = self.start("server", "logs", *HERE, "-f", "-n", "1")
        first = [LINE.fullmatch(read_line(follower.stdout).rstrip()).group(2) for _ in range(2)]
        self.assertEqual(set(first), set(self.hosts))
        self.server("drain", *HERE, "--reason", "while it follows")
        shown = [read_line(follower.stdout) for _ in range(2)]
        self.assertEqual([line.count("while it follows") for line in shown], [1, 1])

        # The test kills the helper of one host.
        def supervisors():
            return sorted(pid for pid, command in self.left() if " supervise" in command)
        guard = wait_until("its helpers", supervisors)[0]
        with open(f"/proc/{guard}/task/{guard}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        for pid in [guard, *children]:
            os.kill(pid, signal.SIGKILL)
        lost = read_line(follower.stderr)
        self.assertRegex(lost, r"127\.0\.0\.1:\d+: .*; the logs of the other hosts go on")
        host = re.search(r"127\.0\.0\.1:\d+", lost).group()
        self.server("undrain", *HERE)
        line = read_line(follower.stdout)
        self.assertIn("ends the drain", line)
        self.assertNotIn(host, line)
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(10 * SLOW), 128 + signal.SIGINT)
        self.stop_server()


if __name__ == "__main__":
    unittest.main()
