# SPDX-License-Identifier: Apache-2.0
"""Tests jobs on three nodes of a real Slurm: graphctl starts on them by srun, the third node has no
partition, training gives the same numbers as where everything is local, and nothing remains."""

import os
import signal
import subprocess
import time
import unittest

import slurm_cluster
from cluster_training import (
    TRAINING,
    WAITING,
    TrainingCase,
    accuracy_of,
    numbers_of,
    start_training_cluster,
)
from harness import DEADLINE, SLOW, read_line, wait_until

SHOW = 'echo "$(hostname) $RANK $WORLD_SIZE $GRAPHD_ROLE,$GRAPHD_PART_ID"'
SHOWN = ["[10.99.0.1:0] m1 0 3 host,0", "[10.99.0.2:1] m2 1 3 host,1",
         "[10.99.0.3:2] m3 2 3 trainer,"]


def setUpModule():
    global cluster, slurm
    cluster = start_training_cluster()
    unittest.addModuleCleanup(cluster.close)
    slurm = slurm_cluster.SlurmCluster(cluster)
    unittest.addModuleCleanup(slurm.stop)


class SlurmCase(TrainingCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        # There is no other way to the nodes than Slurm's, unless a test makes one.
        os.remove(cluster.operator.folder + "/root/.ssh/config")

    def tearDown(self):
        super().tearDown()
        slurm.wait(slurm.is_idle)

    def is_service(self, command):
        return slurm_cluster.is_of_slurm(command)

    def launch_arguments(self, *arguments, ip_config="ip.txt", memory_dir="/run", **options):
        words = [*super().launch_arguments(*arguments, **options)]
        for name, value in (("--ip_config", ip_config), ("--memory_dir", memory_dir)):
            if not value:
                at = words.index(name)
                del words[at:at + 2]
        return ("--launcher", "slurm", *words)

    def allocated(self, *words, nodes=3):
        """Returns a command that runs `words` on the operator's machine, in a job of Slurm."""
        return slurm.command("salloc", "--quiet", f"--nodes={nodes}", *words)

    def launch_words(self, *arguments, nodes=3, variables=(), **options):
        return self.allocated("env", *variables, cluster.root + "/bin/graphctl", "launch",
                              "--server_name", "small",
                              *self.launch_arguments(*arguments, **options), nodes=nodes)

    def launch(self, *arguments, **options):
        return subprocess.run(self.launch_words(*arguments, **options), capture_output=True,
                              text=True, timeout=3 * DEADLINE * SLOW)

    def start_launch(self, *arguments, **options):
        job = subprocess.Popen(self.launch_words(*arguments, **options), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.started.append(job)
        return job

    def pids(self, machine, beginning):
        return [pid for pid, command in machine.processes() if command.startswith(beginning)]

    def launcher(self):
        """Returns the pid of graphctl launch, which salloc has started."""
        return self.pids(cluster.operator, cluster.root + "/bin/graphctl launch")[0]

    def nothing_remains(self):
        wait_until("every host to be empty", lambda: not self.left(), 30)
        wait_until("every srun to end", lambda: not self.pids(cluster.operator, "srun"), 30)


class Training(SlurmCase):
    def test_it_learns_the_same_as_where_everything_is_local(self):
        done = self.launch(self.python(*TRAINING))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("10.99.0.3: is ready, without a server", done.stderr)
        accuracy = accuracy_of(done)
        print(f"    test accuracy {accuracy}, on nodes of Slurm and locally")
        self.assertGreater(accuracy, 0.85)
        cluster.write_ssh_config()
        self.assertEqual(numbers_of(done), numbers_of(self.train_locally()))

    def test_batches_and_everything_else_are_those_of_a_local_trainer(self):
        results = self.results(self.launch(self.python("whole_trainer.py", "small")))
        self.check_results(results)
        cluster.write_ssh_config()
        local = self.whole_results_locally()
        for result in results:
            for what in ("batches", "links", "walks", "queries", "rows"):
                self.assertEqual(result[what], local[what], what)


class Hosts(SlurmCase):
    def test_nodes_without_a_partition_run_trainers(self):
        done = self.launch(SHOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), SHOWN)
        # srun has nothing to say about a job that succeeds.
        self.assertNotIn("srun", done.stderr)
        two = self.launch(SHOW, nodes=2)
        self.assertEqual(sorted(two.stdout.splitlines()),
                         [line.replace(" 3 ", " 2 ") for line in SHOWN[:2]], two.stderr)

    def test_names_of_nodes_are_known(self):
        self.write("ip.txt", "m2\nm1\n")
        done = self.launch('echo "$(hostname) $RANK $GRAPHD_PART_ID"')
        # Like Debian's, /etc/hosts of a node has a loopback address for its own name.
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r"m\d: m\d is a loopback address on this host")
        # The names are those of nodes: the third is the one without a partition.
        self.assertIn("host 10.99.0.3 (by srun, on node m3)\n  no daemon",
                      self.launch("--dry_run", "true").stdout)

    def test_a_script_of_sbatch_needs_no_ip_config(self):
        done = self.batch(" ".join(f"'{word}'" for word in (
            cluster.root + "/bin/graphctl", "launch", "--server_name", "small",
            *self.launch_arguments(SHOW, ip_config=None))))
        self.assertEqual(sorted(line for line in done.splitlines() if line.startswith("[")), SHOWN,
                         done)

    def batch(self, text):
        """Returns the output of a script of sbatch on all nodes; the first one runs it."""
        script, output = cluster.root + "/script", cluster.root + "/output"
        with open(script, "w") as out:
            out.write(f"#!/bin/sh\n{text}\n")
        sent = subprocess.run(
            slurm.command("sbatch", "--nodes=3", "--chdir=/", f"--output={output}", script),
            capture_output=True, text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        # sbatch --wait looks every ten seconds.
        wait_until("the script to end", lambda: slurm.ask("squeue", "-h") == "")
        with open(output) as file:
            return file.read()

    def test_settings_of_the_job_do_not_reach_the_steps(self):
        done = self.launch('echo "# $SLURM_ARRAY_TASK_ID $MINE"; ' + SHOW, variables=(
            "SLURM_LABELIO=1", "SLURM_UNBUFFEREDIO=1", "SLURM_NTASKS_PER_NODE=2", "SLURM_EXACT=1",
            "SLURM_STDOUTMODE=none", "SLURM_GPUS=8", "SLURM_TIMELIMIT=1", "SLURM_CPU_BIND=none",
            "SRUN_CPUS_PER_TASK=99", "SLURM_ARRAY_TASK_ID=7", "MINE=1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = sorted(done.stdout.splitlines())
        self.assertEqual(lines[1::2], SHOWN)
        # Variables that describe the job reach them.
        self.assertEqual([line.split("# ")[1] for line in lines[::2]], ["7 1"] * 3)

    def test_a_normal_user_can_launch_jobs(self):
        # Nobody has logged in on the nodes, where a session's folder can neither be found nor made.
        home = cluster.operator.folder + "/home"
        words = self.launch_words("id -un", memory_dir=None)
        at = words.index("salloc")
        done = subprocess.run(
            [*words[:at], "setpriv", "--reuid=2000", "--regid=2000", "--clear-groups", "env",
             f"HOME={home}", "XDG_RUNTIME_DIR=/root/user/2000", *words[at:]],
            capture_output=True, text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], ["graph"] * 3)

    def test_a_reader_that_pauses_for_long_loses_no_node(self):
        job = self.start_launch("--host_timeout", str(4 * SLOW), "seq 1 500000")
        self.assertIn("] 1\n", read_line(job.stdout))
        time.sleep(10 * SLOW)  # longer than both sides wait for the other
        out, err = job.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(out.count("\n"), 3 * 500000 - 1)

    def test_the_word_end_in_a_command_ends_nothing(self):
        done = self.launch("--", "echo", "end")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("] end\n"), 3, done.stdout)

    def test_the_plan_names_the_nodes(self):
        plan = self.launch("--dry_run", "true")
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("host 10.99.0.1:30050 (by srun, on node m1)\n  daemon: partition 0", plan.stdout)
        self.assertIn("host 10.99.0.3 (by srun, on node m3)\n  no daemon\n  trainer: rank 2",
                      plan.stdout)

    def test_large_outputs_arrive_unchanged(self):
        done = subprocess.run(
            self.launch_words('head -c 3000000 /dev/zero | tr "\\0" x; echo; printf "a\\000\\001\\nb"'),
            capture_output=True, timeout=3 * DEADLINE * SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().split("\n")
        for host in SHOWN:
            label = host[:host.index("]") + 2]
            mine = [line[len(label):] for line in lines if line.startswith(label)]
            self.assertEqual("".join(mine), "x" * 3000000 + "a\0\1b")


class Errors(SlurmCase):
    def test_outside_of_a_job_the_error_says_what_to_do(self):
        done = subprocess.run(
            slurm.command(cluster.root + "/bin/graphctl", "launch", *self.launch_arguments("true")),
            capture_output=True, text=True, timeout=DEADLINE * SLOW)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("SLURM_JOB_ID is not set", done.stderr)
        self.assertIn("salloc --nodes=", done.stderr)

    def test_a_host_that_is_no_node_of_the_job_is_refused(self):
        done = self.launch("true", nodes=1)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"ip_config names 10\.99\.0\.2, which is not a node of Slurm job "
                                      r"\d+: m1 \(10\.99\.0\.1\); ")

    def test_what_slurm_would_end_is_refused(self):
        for option, remedy in (("--detach", "sbatch"), ("--keep_alive", "one after another")):
            done = self.launch(option, "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{option} does not work with --launcher slurm", done.stderr)
            self.assertIn(remedy, done.stderr)

    def test_a_node_without_graphctl_is_reported(self):
        done = self.launch("--graphctl", "/srv/none/graphctl", "true")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("0 of 3 nodes have answered", done.stderr)
        self.assertIn("/srv/none/graphctl: No such file or directory", done.stderr)

    def slow_graphctl(self, program="trap '' TERM; sleep 3600"):
        """Returns the path of a program on all nodes that does not answer, and does not end at once."""
        path = cluster.root + "/slow"
        with open(path, "w") as out:
            out.write(f"#!/bin/sh\n{program}\n")
        os.chmod(path, 0o755)
        return path

    def test_nodes_that_do_not_answer_are_given_up(self):
        begin = time.monotonic()
        done = self.launch("--graphctl", self.slow_graphctl(), "--connect_timeout", "2", "true")
        self.assertLess(time.monotonic() - begin, 8 * SLOW)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("0 of 3 nodes have answered within 2 s (--connect_timeout)", done.stderr)
        self.nothing_remains()

    def test_a_node_that_says_nothing_of_use_is_given_up(self):
        slow = self.slow_graphctl(
            f'case "$*" in *--node) exec {cluster.root}/bin/graphctl "$@";; esac; '
            "while true; do echo noise >&2; sleep 0.3; done")
        done = self.launch("--graphctl", slow, "--connect_timeout", "2", "--host_timeout", "1", "true")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("10.99.0.3] noise", done.stderr)
        for node in ("m1", "m2", "m3"):
            self.assertIn(f"node {node} has not answered within 3 s (--connect_timeout, "
                          "--host_timeout)", done.stderr)
        self.nothing_remains()

    def test_an_interrupt_ends_the_question_to_the_nodes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.start_launch("--graphctl", self.slow_graphctl(), "--connect_timeout", "60",
                                    "true")
            wait_until("all nodes to be asked", lambda: all(
                self.pids(machine, "sleep 3600") for machine in cluster.machines))
            begin = time.monotonic()
            os.kill(self.launcher(), number)
            job.communicate(timeout=DEADLINE * SLOW)
            self.assertLess(time.monotonic() - begin, 8 * SLOW)
            self.nothing_remains()

    def test_without_srun_the_error_names_it(self):
        done = self.launch("true", variables=("PATH=/nowhere",))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("can't run srun", done.stderr)
        self.assertIn("to PATH", done.stderr)


class Ends(SlurmCase):
    def test_a_failing_trainer_gives_its_exit_code_and_its_last_lines(self):
        done = self.launch('test "$RANK" = 2 && { echo last words >&2; exit 7; }; sleep 3600')
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("[10.99.0.3:2] last words\n", done.stderr)
        self.assertIn("trainer 2 on 10.99.0.3 exited with code 7; ended the job", done.stderr)
        self.assertNotIn("srun: error", done.stderr)
        self.nothing_remains()

    def test_failed_trainers_are_started_again(self):
        done = self.launch("--max_restarts", "1", 'echo "up $GRAPHD_RESTART_COUNT"; '
                           'test "$RANK$GRAPHD_RESTART_COUNT" != 20')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("up 1\n"), 3, done.stdout)

    def test_an_interrupt_ends_the_job_everywhere(self):
        job = self.start_launch(WAITING)
        self.up(job)
        os.kill(self.launcher(), signal.SIGINT)
        self.ends(job, 130)
        self.nothing_remains()

    def test_kill_9_of_the_launcher_or_of_an_srun_leaves_nothing(self):
        job = self.start_launch(WAITING)
        self.up(job)
        os.kill(self.launcher(), signal.SIGKILL)
        job.communicate(timeout=DEADLINE * SLOW)
        self.nothing_remains()
        job = self.start_launch("--host_timeout", "2", WAITING)
        self.up(job)
        # Each srun has another, which cancels its step if it is killed.
        with open(f"/proc/{self.launcher()}/task/{self.launcher()}/children") as file:
            os.kill(int(file.read().split()[1]), signal.SIGKILL)
        said = self.ends(job, 5)
        self.assertRegex(said, r"graphctl: 10\.99\.0\.\d: its srun was killed by signal 9\n")
        self.nothing_remains()
        # A server that Slurm has killed leaves its socket to the next one.
        again = self.launch("true")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_graphctl_stop_and_scancel_end_the_job(self):
        for stop in (
                cluster.machines[0].enter(cluster.root + "/bin/graphctl", "stop", "--server_name",
                                          "small"),
                slurm.command("scancel", "--user=root")):
            job = self.start_launch(WAITING)
            self.up(job)
            done = subprocess.run(stop, capture_output=True, text=True, timeout=DEADLINE * SLOW)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.ends(job, 143)
            self.nothing_remains()

    def test_the_reason_of_srun_for_the_end_of_a_task_is_shown(self):
        job = self.start_launch(WAITING)
        self.up(job)
        # The first process of a task is the one that slurmd waits for.
        os.kill(self.pids(self.third, cluster.root + "/bin/graphctl supervise")[0], signal.SIGKILL)
        said = self.ends(job, 5)
        self.assertIn("srun: error: m3: task 0: Killed", said)
        # The supervisor may still report the end of the process around it, before srun has ended.
        self.assertRegex(said, r"10\.99\.0\.3 \(Slurm job \d+\): its srun exited with code 137\n"
                               r"|10\.99\.0\.3: its graphd-guard, .* was killed")
        self.nothing_remains()

    def lose(self, machines, *arguments, command=WAITING):
        """Returns what graphctl says about a job that loses nodes, and the seconds until it ends."""
        job = self.start_launch("--host_timeout", "3", *arguments, command)
        self.up(job)
        if "exit 0" in command:
            time.sleep(1)  # for the launcher to learn that the trainers have ended
        begin = time.monotonic()
        for machine in machines:
            cluster.cable(machine, False)
        try:
            _, said = job.communicate(timeout=2 * DEADLINE * SLOW)
            took = time.monotonic() - begin
            print(f"    {took:.1f} s after nodes were lost: exit code {job.returncode}")
            self.assertEqual(job.returncode, 5, said)
            wait_until("every host to be empty", lambda: not self.left(), 30)
        finally:
            for machine in machines:
                cluster.cable(machine, True)
        return said, took

    def test_a_lost_node_ends_the_job(self):
        said, took = self.lose([self.third])
        self.assertIn("10.99.0.3: node m3 has been silent for 3 s (--host_timeout)", said)
        self.assertEqual(said.count("silent"), 1, said)
        self.assertTrue(2 < took < 8 * SLOW, took)

    def test_a_lost_node_whose_trainers_are_done_ends_the_job(self):
        # Its daemon has a partition that the other trainers read.
        said, took = self.lose([cluster.machines[1]], command=(
            f'if [ "$RANK" = 1 ]; then echo up $(hostname); exit 0; fi; {WAITING}'))
        self.assertIn("node m2 has been silent for 3 s (--host_timeout)", said)
        self.assertTrue(2 < took < 8 * SLOW, took)

    def test_two_lost_nodes_are_both_given_up(self):
        said, took = self.lose(cluster.machines[1:])
        for node in ("m2", "m3"):
            self.assertIn(f"node {node} has been silent", said)
        self.assertNotIn("has not confirmed", said)
        self.assertTrue(2 < took < 9 * SLOW, took)


if __name__ == "__main__":
    unittest.main(verbosity=2)
