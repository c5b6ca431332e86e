# SPDX-License-Identifier: Apache-2.0
"""Tests the verbs by which operators control servers that run."""

import json
import unittest

from harness import SLOW, GraphctlTest, read_line

HERE = ("--server_name", "ring", "--ip_config", "ip.txt")


class Control(GraphctlTest):
    def json_of(self, *arguments, code=0):
        done = self.graphctl(*arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def test_a_drained_server_keeps_its_jobs_and_refuses_others(self):
        self.start_server()
        job = self.start_launch("--server_grace", "1", "echo up; exec sleep 3600", trainers=1)
        self.assertIn("up", read_line(job.stdout))
        done = self.graphctl("server", "drain", *HERE, "--reason", "new disks")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("drained; 1 job goes on"), 2, done.stdout)
        again = self.graphctl("server", "drain", *HERE, "--reason", "new disks")
        self.assertEqual(again.stdout.count("was already drained"), 2, again.stdout)
        refused = self.launch("true", trainers=1)
        self.assertEqual(refused.returncode, 10, refused.stderr)
        self.assertIn("takes no new jobs", refused.stderr)
        self.assertIn("new disks", refused.stderr)
        self.assertIn("undrain", refused.stderr)
        shown = self.graphctl("server", "status", *HERE).stdout
        self.assertEqual(shown.count("DRAINED by "), 2, shown)
        status = self.json_of("server", "status", *HERE)
        self.assertEqual([each["status"]["drained"]["reason"] for each in status],
                         ["new disks"] * 2)
        # A checkpoint can be made before a server is stopped: graphctl's own calls are no new jobs.
        made = self.graphctl("checkpoint", "list", *HERE)
        self.assertEqual(made.returncode, 0, made.stderr)
        answers = self.json_of("server", "undrain", *HERE)
        self.assertEqual([(each["ok"], each["changed"]) for each in answers], [(True, True)] * 2)
        admitted = self.launch("true", trainers=1)
        self.assertEqual(admitted.returncode, 0, admitted.stderr)
        self.stop_server("--force")
        job.kill()
        job.communicate()

    def test_requests_in_flight_are_listed(self):
        self.start_server()
        answers = self.json_of("debug", "requests", *HERE)
        self.assertEqual([(each["ok"], each["total"], each["requests"]) for each in answers],
                         [(True, 0, [])] * 2)
        shown = self.graphctl("debug", "requests", *HERE, "--limit", "5")
        self.assertEqual(shown.stdout.count(": 0 requests in flight\n"), 2, shown.stdout)
        refused = self.graphctl("debug", "requests", *HERE, "--limit", "0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--limit", refused.stderr)
        self.stop_server()

    def test_memory_is_listed_by_array(self):
        self.start_server()
        answers = self.json_of("debug", "memory", *HERE)
        status = self.json_of("server", "status", *HERE)
        for answer, state in zip(answers, status):
            partition = state["status"]["partitions"][0]
            self.assertEqual(answer["graph_bytes"], partition["bytes"])
            self.assertEqual(answer["num_arrays"], len(answer["arrays"]))
            arrays = {each["name"]: each for each in answer["arrays"]}
            self.assertEqual(arrays["indptr"]["dtype"], "uint64")
            self.assertEqual(arrays["indptr"]["shape"], [partition["nodes"] + 1])
            self.assertEqual(arrays["indptr"]["bytes"], 8 * (partition["nodes"] + 1))
            self.assertEqual(answer["tensors"], [])
        shown = self.graphctl("debug", "memory", *HERE, "--limit", "1")
        self.assertEqual(shown.stdout.count("(the largest 1 of "), 2, shown.stdout)
        self.stop_server()

    def test_without_ip_config_all_daemons_of_this_machine_are_asked(self):
        self.start_server()
        answers = self.json_of("server", "drain", "--server_name", "ring")
        self.assertEqual(sorted(each["host"] for each in answers),
                         sorted(f"127.0.0.1:{port}" for port in self.ports))
        self.stop_server()
        none = self.graphctl("server", "drain", "--server_name", "ring")
        self.assertEqual(none.returncode, 5)
        self.assertIn("no server 'ring' runs on this machine", none.stderr)

    def test_a_job_that_is_ended_fails_with_the_reason(self):
        self.start_server()
        job = self.start_launch("--server_grace", "1", "echo up; exec sleep 3600", trainers=1)
        self.assertIn("up", read_line(job.stdout))
        name = self.json_of("server", "status", *HERE)[0]["status"]["jobs"][0]["job"]
        dashed = self.graphctl("server", "end-job", name, *HERE)
        self.assertEqual(dashed.returncode, 2, dashed.stderr)
        self.assertIn("did you mean 'end_job'", dashed.stderr)
        unknown = self.graphctl("server", "end_job", "nothing", *HERE)
        self.assertEqual(unknown.returncode, 3, unknown.stderr)
        self.assertIn(name, unknown.stderr)
        done = self.graphctl("server", "end_job", name, *HERE, "--reason", "too long")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(f"ended job {name}"), 2, done.stdout)
        status = self.json_of("server", "status", *HERE)
        self.assertEqual([each["status"]["jobs"] for each in status], [[], []])
        job.kill()
        job.communicate(timeout=20 * SLOW)
        self.stop_server()


if __name__ == "__main__":
    unittest.main()
