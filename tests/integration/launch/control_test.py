# SPDX-License-Identifier: Apache-2.0
"""Tests the verbs by which operators control servers that run."""

import json
import os
import re
import subprocess
import unittest

from harness import (
    BIN,
    DEADLINE,
    GRAPHCTL,
    SLOW,
    GraphctlTest,
    read_line,
    wait_until,
    write_raw_graph,
)
from native_files import xxh3  # the harness adds its folder to the path

TRAINER = os.path.join(BIN, "..", "tests", "ring_trainer")
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
        late = self.graphctl("server", "drain", *HERE, "--reason", "new disks", "--wait", "0.5")
        self.assertEqual(late.returncode, 7, late.stderr)
        self.assertRegex(late.stderr, r"after 0.5 s job \S+ is still attached; wait again")
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
        # A checkpoint can be made before a server is stopped: graphctl's own calls are not new jobs.
        made = self.graphctl("checkpoint", "list", *HERE)
        self.assertEqual(made.returncode, 0, made.stderr)
        # A drain waits for the end of jobs, also for a slow one's.
        waiting = self.start("server", "drain", *HERE, "--reason", "new disks", "--wait",
                             str(DEADLINE))
        self.assertRaises(subprocess.TimeoutExpired, waiting.wait, 0.5)
        job.terminate()
        job.communicate()
        shown, _ = waiting.communicate(timeout=DEADLINE)
        self.assertEqual(waiting.returncode, 0, shown)
        self.assertEqual(shown.count("was already drained; no job is attached"), 2, shown)
        answers = self.json_of("server", "undrain", *HERE)
        self.assertEqual([(each["ok"], each["changed"]) for each in answers], [(True, True)] * 2)
        admitted = self.launch("true", trainers=1)
        self.assertEqual(admitted.returncode, 0, admitted.stderr)
        self.stop_server("--force")

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

    def partition_next(self, name, *arguments, nodes=80):
        """Partitions a larger ring of the same name into a folder; returns its part config."""
        raw = self.path("raw_" + name)
        write_raw_graph(raw, nodes)
        subprocess.run([GRAPHCTL, "partition", "--input", raw, "--graph_name", "ring",
                        "--num_parts", "2", "--part_method", "random", "--output",
                        self.path(name), *arguments], check=True, capture_output=True,
                       timeout=DEADLINE)
        return os.path.join(self.path(name), "ring.json")

    def nodes_served(self):
        return [sum(part["nodes"] for part in each["status"]["partitions"])
                for each in self.json_of("server", "status", *HERE)]

    def test_new_jobs_get_the_graph_that_the_server_was_switched_to(self):
        self.start_server()
        # The first trainer decides the version; launchers alone would use none.
        job = self.start_launch("--server_grace", "1",
                                f"{TRAINER} >/dev/null && echo up; exec sleep 3600", trainers=1)
        self.assertIn("up", read_line(job.stdout))
        following = self.partition_next("next")
        done = self.graphctl("server", "switch", "next/ring.json", *HERE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(f"switched to {following} (fingerprint "), 2,
                         done.stdout)
        self.assertNotIn("the same files", done.stdout)
        self.assertEqual(done.stdout.count("; 1 job keeps an earlier version\n"), 2, done.stdout)
        self.assertEqual(sum(self.nodes_served()), 80)
        for answer in self.json_of("server", "status", *HERE):
            status = answer["status"]
            self.assertEqual(status["part_config"], following)
            self.assertEqual(len(status["graphs"]), 2)
            self.assertEqual(status["jobs"][0]["fingerprint"], status["graphs"][1]["fingerprint"])
            self.assertEqual([each["jobs"] for each in status["graphs"]], [0, 1])
        shown = self.graphctl("ps", *HERE[:2]).stdout
        self.assertEqual(shown.count("an earlier version, used by 1 job\n"), 2, shown)
        self.assertEqual(len(re.findall(r"trainers attached here, graph [0-9a-f]{16}", shown)), 2,
                         shown)
        ended = self.graphctl("server", "end_job", "no_such_job", *HERE)
        self.assertEqual(ended.returncode, 3)
        name = self.json_of("server", "status", *HERE)[0]["status"]["jobs"][0]["job"]
        job.kill()
        job.communicate()
        # It could come back, so the memory is given back at once only if it is ended.
        ended = self.graphctl("server", "end_job", name, *HERE)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        wait_until("the memory of the old graph", lambda: all(
            len(each["status"]["graphs"]) == 1
            for each in self.json_of("server", "status", *HERE)), 60)
        self.stop_server()
        self.start_server()
        self.assertEqual(sum(self.nodes_served()), 80)  # the switch outlives a restart
        self.stop_server()

    def test_a_server_that_has_read_earlier_files_is_noticed(self):
        start = ("server", "start", *HERE, "--part_config", "ring.json")
        self.start_server()
        self.assertEqual(self.graphctl(*start).stdout.count("was already running\n"), 2)
        self.partition_next("", "--force")
        text = (f"the files of {self.path('ring.json')} have changed since the server 'ring' has "
                "read them")
        shown = self.graphctl(*start).stdout
        self.assertEqual(shown.count(f"was already running, and {text}"), 2, shown)
        launched = self.launch("true", trainers=1)
        self.assertEqual(launched.returncode, 0, launched.stderr)
        self.assertEqual(launched.stderr.count(text), 2, launched.stderr)
        self.assertEqual(sum(self.nodes_served()), 60)
        switched = self.graphctl("server", "switch", *HERE)
        self.assertEqual(switched.returncode, 0, switched.stderr)
        self.assertEqual(self.graphctl(*start).stdout.count("was already running\n"), 2)
        self.assertNotIn(text, self.launch("true", trainers=1).stderr)
        self.assertEqual(sum(self.nodes_served()), 80)
        self.stop_server()

    def test_all_daemons_switch_or_none(self):
        self.start_server()
        before = self.nodes_served()
        self.assertEqual(sum(before), 60)
        # The files of a partition claim that it has a feature of a TiB.
        self.partition_next("large")
        header = self.path("large/part1/partition.json")
        with open(header) as file:
            partition = json.load(file)
        for segment in partition["segments"]:
            if segment["file"] != "node_feat.seg":
                continue
            rows = segment["arrays"][0]["shape"][0]
            bytes_of = rows * 4 << 33
            segment["arrays"].append({"name": "node/0/huge", "dtype": "float32",
                                      "shape": [rows, 1 << 33], "offset": 4096,
                                      "bytes": bytes_of, "xxh3": "0" * 16})
            segment["total_bytes"] = 4096 + bytes_of
            os.truncate(self.path("large/part1/node_feat.seg"), 4096 + bytes_of)
        with open(header, "w") as file:
            json.dump(partition, file)
        refused = self.graphctl("server", "switch", "large/ring.json", *HERE)
        self.assertEqual(refused.returncode, 6, refused.stderr)  # overloaded
        self.assertRegex(refused.stderr, r"beside the version that is served.* TiB")
        self.assertEqual(refused.stderr.count("nothing has changed here"), 1, refused.stderr)
        self.assertEqual(self.nodes_served(), before)
        unknown = self.graphctl("server", "switch", "nowhere/ring.json", *HERE)
        self.assertEqual(unknown.returncode, 3, unknown.stderr)
        self.assertIn(f"no part config {self.path('nowhere/ring.json')} on this host; copy the "
                      "partition there", unknown.stderr)
        # Without a path it is the configuration's, which has not changed.
        same = self.json_of("server", "switch", *HERE)
        self.assertEqual([(each["ok"], each["same_files"]) for each in same], [(True, True)] * 2)
        shown = self.graphctl("server", "switch", *HERE).stdout
        self.assertEqual(shown.count(", the same files as before); no job uses"), 2, shown)
        self.assertEqual(self.nodes_served(), before)
        self.stop_server()

    def test_without_ip_config_all_daemons_of_this_machine_are_asked(self):
        self.start_server()
        with open(os.path.join(self.runtime, "ring", "x.sock"), "w"):
            pass  # no port names it, so it is no daemon's
        answers = self.json_of("server", "drain", "--server_name", "ring")
        self.assertEqual(sorted(each["host"] for each in answers),
                         sorted(f"127.0.0.1:{port}" for port in self.ports))
        self.stop_server()
        none = self.graphctl("server", "drain", "--server_name", "ring")
        self.assertEqual(none.returncode, 5)
        self.assertIn("no server 'ring' runs on this machine", none.stderr)

    def test_an_exported_checkpoint_stays_in_its_directory(self):
        self.start_server()
        self.write("model.pt", "weights")
        made = self.graphctl("checkpoint", "create", "one", "--file", "model.pt", *HERE)
        self.assertEqual(made.returncode, 0, made.stderr)
        (folder,) = {each for each, _, files in os.walk(self.workspace) if "manifest.json" in files}
        manifest = json.loads(self.read(folder + "/manifest.json"))
        manifest["files"]["../../precious"] = 0
        text = json.dumps(manifest)
        self.write(folder + "/manifest.json", text)
        sums = self.read(folder + "/sums").splitlines(keepends=True)[:-1]
        sums = "".join(f"{xxh3(text.encode()):016x} {len(text)} manifest.json\n"
                       if line.endswith(" manifest.json\n") else line for line in sums)
        self.write(folder + "/sums", f"{sums}{xxh3(sums.encode()):016x}\n")
        self.write("precious", "as it was")
        done = self.graphctl("checkpoint", "export", "one", "--output", "out", *HERE)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.read("precious"), "as it was")
        self.stop_server()

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
