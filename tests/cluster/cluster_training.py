# SPDX-License-Identifier: Apache-2.0
"""The base of cluster tests that train: three machines, the first two of which have a partition of a
small graph each. The third has no partition, no graphd and no file of the graph."""

import json
import os
import re
import shutil
import subprocess
import sys

from cluster_case import ClusterCase, start_cluster
from harness import BIN, DEADLINE, SLOW, read_line, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, "..", "tools")
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
NODES = 1000
WAITING = "echo up $(hostname); sleep 3600"
TRAINING = ("train_dist.py", "--graph_name small", "--ip_config ip.txt", "--num_epochs 8",
            "--eval_every 2", "--log_every 0", "--batch_size 60", "--fan_out 5,5", "--num_hidden 32",
            "--lr 0.02", "--seed 3")


def start_training_cluster():
    cluster = start_cluster(("graphctl", "graphd"))
    try:
        fill(cluster)
    except BaseException:
        cluster.close()
        raise
    return cluster


def fill(cluster):
    shutil.copy(os.path.join(TOOLS, "whole_trainer.py"), cluster.root + "/bin")
    shutil.copy(os.path.join(EXAMPLES, "train_dist.py"), cluster.root + "/bin")
    # The package of the build tree consists of links; the machines see copies.
    shutil.copytree(os.path.join(BIN, "..", "python"), cluster.root + "/python")
    raw = cluster.root + "/raw_graph"
    subprocess.run([sys.executable, os.path.join(TOOLS, "small_graph.py"), "--nodes", str(NODES), raw],
                   check=True)
    subprocess.run([os.path.join(BIN, "graphctl"), "partition", "--graph_name", "small", "--input", raw,
                    "--num_parts", "2", "--output", cluster.root], check=True, capture_output=True)
    shutil.rmtree(raw)
    # The first host also has the other partition, for a job with everything on one machine.
    for machine, parts in zip(cluster.machines, ((0, 1), (1,), ())):
        workspace = machine.folder + "/srv/ws"
        os.mkdir(workspace)
        for part in parts:
            shutil.copy(cluster.root + "/small.json", workspace)
            shutil.copytree(f"{cluster.root}/part{part}", f"{workspace}/part{part}")
    os.mkdir(cluster.operator.folder + "/srv/ws")
    # The third has no daemon's program either.
    subprocess.run(cluster.machines[2].enter("mount", "--bind", "/dev/null",
                                             cluster.root + "/bin/graphd"), check=True)


def accuracy_of(done):
    """Returns the accuracy that TRAINING has printed."""
    return float(re.search(r"test accuracy: ([0-9.]+)", done.stdout)[1])


def numbers_of(done):
    """Returns the lines of TRAINING without hosts and times."""
    return sorted(re.sub(r"^\[[^]]*\] | in [0-9.]+ s", "", line)
                  for line in done.stdout.splitlines())


class TrainingCase(ClusterCase):
    def setUp(self):
        super().setUp()
        self.third = self.cluster.machines[2]
        self.write("ip.txt", "10.99.0.1\n10.99.0.2\n")
        self.assertEqual(os.listdir(self.third.folder + "/srv/ws"), [])

    def tearDown(self):
        super().tearDown()
        self.assertEqual([machine.sockets() for machine in self.cluster.machines], [[], [], []])

    def write(self, name, text):
        with open(self.cluster.operator.folder + "/srv/ws/" + name, "w") as out:
            out.write(text)

    def words(self, verb, *arguments, where=None):
        name = () if verb == "copy" else ("--server_name", "small")
        return (where or self.cluster.operator).enter(
            self.cluster.root + "/bin/graphctl", *verb.split(), *name, *arguments)

    def graphctl(self, verb, *arguments, where=None):
        return subprocess.run(self.words(verb, *arguments, where=where), capture_output=True,
                              text=True, timeout=3 * DEADLINE * SLOW)

    def launch_arguments(self, *arguments, guard=("--insecure",)):
        return ("--workspace", "/srv/ws", "--ip_config", "ip.txt", "--part_config", "small.json",
                "--memory_dir", "/run", *guard, *arguments)

    def launch(self, *arguments, **options):
        return self.graphctl("launch", *self.launch_arguments(*arguments, **options))

    def start_launch(self, *arguments):
        job = subprocess.Popen(self.words("launch", *self.launch_arguments(*arguments)),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(job)
        return job

    def up(self, job, count=3):
        lines = sorted(read_line(job.stdout) for _ in range(count))
        self.assertTrue(all(" up m" in line for line in lines), lines or job.stderr.read())
        return lines

    def python(self, script, *arguments):
        # gloo would take the address of the host's name, which is a loopback address there.
        return " ".join(("OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=eth0",
                         f"PYTHONPATH={self.cluster.root}/python", "exec", "/usr/bin/python3",
                         f"{self.cluster.root}/bin/{script}", *arguments))

    def results(self, done):
        """Returns what each rank of whole_trainer.py has printed."""
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        # A mark of torchrun may precede each line.
        found = [json.loads(line[line.index("{"):]) for line in done.stdout.splitlines()]
        return sorted(found, key=lambda each: each["rank"])

    def ends(self, job, code, within=DEADLINE):
        """Checks a job's exit code, and that nothing of it remains; returns its messages."""
        _, said = job.communicate(timeout=within * SLOW)
        self.assertEqual(job.returncode, code, said)
        wait_until("every host to be empty", lambda: not self.left(), 30)
        return said

    def train_locally(self):
        """Trains with three trainers on one machine, over ssh, which divide the seeds as three hosts
        do of which the last has no partition."""
        self.write("ip.txt", "10.99.0.1 30050 2\n10.99.0.1 30050 1\n")
        done = self.graphctl("launch", *TrainingCase.launch_arguments(
            self, "--extra_envs", "GRAPHD_REMOTE_TRAINERS=1", "--num_samplers", "0",
            self.python(*TRAINING)))
        self.write("ip.txt", "10.99.0.1\n10.99.0.2\n")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done

    def whole_results_locally(self):
        """Returns what whole_trainer.py prints where both partitions are on its machine."""
        self.write("ip.txt", "10.99.0.1\n10.99.0.1\n")
        done = self.graphctl("launch", *TrainingCase.launch_arguments(
            self, self.python("whole_trainer.py", "small")))
        self.write("ip.txt", "10.99.0.1\n10.99.0.2\n")
        result = self.results(done)[0]
        self.assertEqual(result["mapped"], 2)
        return result

    def check_results(self, results):
        self.assertEqual([each["rank"] for each in results], [0, 1, 2])
        self.assertEqual([each["mapped"] for each in results], [1, 1, 0])
        for what in ("batches", "links", "walks", "queries", "rows", "numbers", "learnt", "sum",
                     "restored"):
            self.assertEqual(len({str(each[what]) for each in results}), 1, what)
        self.assertEqual(results[0]["restored"], results[0]["numbers"])
        self.assertEqual(results[2]["note"], "of the last trainer")
        for what in ("train", "own", "by_book"):
            ids = sorted(node for each in results for node in each[what])
            self.assertEqual(len(ids), len(set(ids)), what)
            self.assertEqual(len(ids), NODES if what == "by_book" else NODES // 2)
        sizes = [len(each["train"]) for each in results]
        self.assertLessEqual(max(sizes) - min(sizes), 1)
        # Trainers beside a partition have seeds of it alone, and the third has some of both.
        book = [set(range(begin, end)) for begin, end in self.ranges()]
        of_part = [[len(set(each["own"]) & part) for part in book] for each in results]
        self.assertEqual([of_part[0][1], of_part[1][0]], [0, 0])
        self.assertTrue(of_part[2][0] > 0 and of_part[2][1] > 0, of_part)

    def ranges(self):
        """Returns the nodes of each partition."""
        with open(self.cluster.root + "/small.json") as file:
            return next(iter(json.load(file)["node_map"].values()))
