# SPDX-License-Identifier: Apache-2.0
"""Starts trainers with torchrun, with srun of a real Slurm, and by hand: they must be trainers of one
job."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import graphd
import slurm
import support

# Each trainer adds its rank plus one to a tensor of the job, and prints what it sees after a barrier.
# Then the trainers make two synchronous steps of Adagrad, to which each gives gradients for most
# rows. The rows must be those that the sums of all gradients lead to; gradients that were applied
# one after the other would lead to others.
TRAINER = """
import json, subprocess, sys
import numpy
import graphd
from graphd.distributed import DistEmbedding, DistGraph, DistTensor, SparseAdagrad
graphd.use("numpy")
graphd.distributed.initialize()
g = DistGraph()
whole = graphd.distributed.PartitionPolicy("range", g)
total = DistTensor((1,), "int64", "total", part_policy=whole)
g.barrier()
total.add([0], numpy.array([g.rank() + 1]))
g.barrier()
worker = subprocess.run([sys.executable, "-c", '''
import graphd
from graphd.distributed import DistGraph, DistTensor
graphd.use("numpy")
graphd.distributed.initialize()
print(DistTensor.open(DistGraph(), "total")[:].tolist()[0])
'''], stdout=subprocess.PIPE, text=True, check=True)
trainers, rank = graphd.distributed.get_num_trainers(), g.rank()
embedding = DistEmbedding(g.num_nodes(), 2)
optimizer = SparseAdagrad([embedding], lr=0.5, sum_duplicates=True, synchronous=True)
nodes = numpy.arange(g.num_nodes())
def gradient_of(rank, step):
    # Rank 0 leaves out the first of each trainers + 1 rows, rank 1 the second, and so on.
    used = nodes % (trainers + 1) != rank
    return numpy.where(used, rank + 1.0 if step == 0 else 1.0, 0.0).astype("float32")
wanted = embedding.weight[:]
squares = numpy.zeros(len(nodes))
for step in range(2):
    mine = gradient_of(rank, step)
    mine_at = nodes[mine != 0]
    embedding(mine_at)
    embedding.backward(mine_at, numpy.repeat(mine[mine != 0][:, None], 2, axis=1))
    optimizer.step()
    together = sum(gradient_of(each, step) for each in range(trainers))
    squares += together**2
    wanted = wanted - (0.5 * together / (numpy.sqrt(squares) + 1e-10))[:, None]
g.barrier()
found = {
    "deviation": float(numpy.abs(embedding.weight[:] - wanted).max()),
    "changed": float(numpy.abs(wanted).min()),
    "rank": rank, "trainers": trainers,
    "total": total[:].tolist()[0], "total_of_worker": int(worker.stdout),
    "job": g.session.job_id, "part": g.handle.local_partition,
    "split": len(graphd.distributed.node_split(g.ndata["train_mask"])),
}
print("FOUND " + json.dumps(found), flush=True)
g.barrier()
"""


class Launchers(support.GraphTest):
    fixture = "sbm_2p_metis"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="graphd-launchers-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.script = os.path.join(folder, "train.py")
        with open(cls.script, "w") as file:
            file.write(TRAINER)

    def trainers(self, output):
        """Returns what the trainers have printed, by rank."""
        found = [json.loads(line) for line in re.findall(r"FOUND (\{.*\})", output)]
        return sorted(found, key=lambda each: each["rank"])

    def check(self, output, trainers, job):
        found = self.trainers(output)
        self.assertEqual([each["rank"] for each in found], list(range(trainers)), output)
        total = trainers * (trainers + 1) // 2
        for each in found:
            self.assertEqual((each["trainers"], each["total"]), (trainers, total))
            self.assertEqual(each["total_of_worker"], total)
            self.assertLess(each["deviation"], 1e-5)
            self.assertGreater(each["changed"], 0.5)
            self.assertRegex(each["job"], job)
        self.assertEqual(len({each["job"] for each in found}), 1)
        # Both partitions are on this machine: its trainers process one each.
        self.assertEqual({each["part"] for each in found}, {0, 1})
        self.assertLessEqual(
            max(each["split"] for each in found), 2 + self.train_nodes() // trainers
        )

    def train_nodes(self):
        return int(self.standalone().ndata["train_mask"][:].sum())

    def test_torchrun(self):
        for arguments, job in (
            (["--standalone"], r"torchrun-\w+"),
            (["--master_port", str(support.free_ports(1)[0])], r"torch-127\.0\.0\.1:\d+"),
        ):
            logs = tempfile.mkdtemp(prefix="graphd-torchrun-")
            self.addCleanup(shutil.rmtree, logs)
            # Output goes to files, too: torchrun 1.13 fails without, with Python 3.11.
            done = subprocess.run(
                [sys.executable, "-m", "torch.distributed.run", *arguments, "--nproc_per_node", "2",
                 "--tee", "1", "--redirects", "1", "--log_dir", logs, self.script],
                env=self.daemons().environment(),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
            )  # fmt: skip
            self.check(done.stdout, 2, job)

    def test_graphctl_starts_torchrun_on_each_host(self):
        logs = tempfile.mkdtemp(prefix="graphd-torchrun-")
        self.addCleanup(shutil.rmtree, logs)
        daemons = self.daemons()

        def launch(command, *options):
            return subprocess.run(
                [os.path.join(support.BIN, "graphctl"), "launch", "--launcher", "torchrun",
                 "--server_name", daemons.server_name, "--ip_config", daemons.ip_config,
                 "--num_trainers", "2", "--extra_envs", "PET_TEE=1", "PET_REDIRECTS=1",
                 f"PET_LOG_DIR={logs}", *options, command],
                env=daemons.environment(), capture_output=True, text=True, timeout=120,
            )  # fmt: skip

        done = launch(f"{sys.executable} {self.script}")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.check(done.stdout, 4, r"^\d{4}-\d{6}-\d+$")
        self.assertRegex(done.stdout, r"(?m)^\[127\.0\.0\.1:\d+\] ")
        # Debian's torchrun waits for those of other hosts before it tells of a failure.
        failed = launch('test "$RANK" != 3 || exit 7; sleep 0.1')
        self.assertEqual(failed.returncode, 1, failed.stderr)
        self.assertIn("exitcode  : 7", failed.stderr)
        self.assertIn("torchrun on 127.0.0.1", failed.stderr)
        self.assertNotIn("trainer", failed.stderr)
        again = launch(
            'echo "up $RANK of $WORLD_SIZE, $GRAPHD_RESTART_COUNT"; '
            'test "$RANK$GRAPHD_RESTART_COUNT" != 10',
            "--max_restarts",
            "1",
        )
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(re.findall(r"up \d of 4, 1", again.stdout)), 4, again.stdout)

    def test_srun(self):
        cluster = slurm.Slurm()
        try:
            # Two steps in turn are two jobs.
            jobs = set()
            for _ in range(2):
                output = cluster.run(
                    "srun", "-N", "2", "-n", "3", sys.executable, self.script,
                    environment=self.daemons().environment(),
                )  # fmt: skip
                self.check(output, 3, r"slurm-\d+\.0")
                jobs.add(self.trainers(output)[0]["job"])
            self.assertEqual(len(jobs), 2)
        finally:
            cluster.stop()

    def run_by_hand(self, arguments="", **environment):
        """Runs a trainer that only joins."""
        return subprocess.run(
            [sys.executable, "-c", f"import graphd\ngraphd.distributed.initialize({arguments})"],
            env=self.daemons().environment(**environment),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
        )  # fmt: skip

    def test_a_rank_that_is_taken_is_reported(self):
        for arguments, environment in (
            ("job_id='by-hand', rank=1, world_size=2", {}),
            ("job_id='by-hand'", {"RANK": "1", "WORLD_SIZE": "2"}),
            ("", {"GRAPHD_JOB_ID": "by-hand", "RANK": "1", "WORLD_SIZE": "2"}),
        ):
            daemons = self.daemons()
            os.environ["GRAPHD_RUNTIME_DIR"] = daemons.runtime
            first = graphd.connect(
                daemons.server_name,
                ip_config=daemons.ip_config,
                job_id="by-hand",
                rank=1,
                world_size=2,
            )
            self.assertEqual((first.rank, first.world_size), (1, 2))
            output = self.run_by_hand(arguments, **environment).stdout
            self.assertIn("ExistsError: ", output)
            self.assertRegex(output, rf"rank 1 of job by-hand .* by process {os.getpid()};")
            first.close()
            self.assertEqual(self.run_by_hand(arguments, **environment).returncode, 0)

    def test_trainers_of_no_job_are_refused(self):
        output = self.run_by_hand(RANK="0", WORLD_SIZE="2").stdout
        self.assertIn("InvalidError: this is one of 2 trainers (WORLD_SIZE)", output)
        self.assertIn("set GRAPHD_JOB_ID", output)
        for options, message in (
            ({"job_id": "a", "rank": 1}, "give both, or neither"),
            ({"job_id": "a", "rank": 2, "world_size": 2}, "rank"),
            ({"rank": 0, "world_size": 2}, "without a job_id"),
        ):
            with self.assertRaisesRegex(graphd.errors.InvalidError, message):
                graphd.connect(self.daemons().server_name, **options)


if __name__ == "__main__":
    support.main()
