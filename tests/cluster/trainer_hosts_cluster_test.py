# SPDX-License-Identifier: Apache-2.0
"""Tests jobs on three hosts of which the third has no partition, no graphd and no file of the graph:
it trains to the same numbers as where everything is local, gets equal batches, and everything ends
as on other hosts."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster_training import (
    NODES,
    TRAINING,
    WAITING,
    TrainingCase,
    accuracy_of,
    numbers_of,
    start_training_cluster,
)
from harness import DEADLINE, SLOW, read_line, wait_until

KEYS = "/srv/keys"


def setUpModule():
    global cluster
    cluster = start_training_cluster()
    unittest.addModuleCleanup(cluster.close)


class TrainerHosts(TrainingCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        self.write("gpus.txt", "10.99.0.3\n")

    def tearDown(self):
        super().tearDown()
        for machine in cluster.everyone():
            shutil.rmtree(machine.folder + KEYS, ignore_errors=True)

    def launch_arguments(self, *arguments, hosts="gpus.txt", **options):
        others = ("--trainer_hosts", hosts) if hosts else ()
        return super().launch_arguments(*others, *arguments, **options)

    def trainer_of_third(self):
        return wait_until("a trainer on the third host", lambda: [
            pid for pid, command in self.third.processes() if command == "sleep 3600"])[0]


class Training(TrainerHosts):
    def test_it_learns_the_same_as_where_everything_is_local(self):
        remote = self.launch(self.python(*TRAINING))
        self.assertEqual(remote.returncode, 0, remote.stderr + remote.stdout)
        self.assertIn("10.99.0.3: is ready, without a server", remote.stderr)
        local = numbers_of(self.train_locally())
        self.assertEqual(numbers_of(remote), local)
        # Rows that each host keeps of the others change nothing.
        cached = self.launch("--row_cache", "16MiB", self.python(*TRAINING))
        self.assertEqual(cached.returncode, 0, cached.stderr + cached.stdout)
        self.assertEqual(numbers_of(cached), local)
        accuracy = accuracy_of(remote)
        print(f"    test accuracy {accuracy}, both with a host without a partition and locally")
        self.assertGreater(accuracy, 0.85)
        # Trainers beside partitions alone divide the seeds otherwise, and learn as much.
        other = self.launch(self.python(*TRAINING), hosts=None)
        self.assertEqual(other.returncode, 0, other.stderr + other.stdout)
        usual = accuracy_of(other)
        print(f"    test accuracy {usual} with the usual division")
        self.assertLess(abs(accuracy - usual), 0.05)

    def test_batches_and_everything_else_are_those_of_a_local_trainer(self):
        results = self.results(self.launch(self.python("whole_trainer.py", "small")))
        self.check_results(results)
        local = self.whole_results_locally()
        for what in ("batches", "links", "walks", "queries", "rows"):
            self.assertEqual(results[2][what], local[what], what)

    def test_torchrun_on_each_host_starts_trainers_of_one_job(self):
        # Debian's torchrun writes to files, too, because it fails without.
        settings = ("PET_TEE=1", "PET_REDIRECTS=1", "PET_LOG_DIR=/tmp")
        done = self.launch("--extra_envs", *settings, "--launcher", "torchrun",
                           self.python("whole_trainer.py", "small"))
        self.check_results(self.results(done))

    def test_sampler_threads_do_not_change_the_batches(self):
        self.check_results(self.results(
            self.launch("--num_samplers", "2", self.python("whole_trainer.py", "small"))))

    def test_with_keys_a_host_without_a_partition_has_no_key_of_the_servers(self):
        made = self.graphctl("keys create", "--keys", KEYS)
        self.assertEqual(made.returncode, 0, made.stderr)
        sent = self.graphctl("keys distribute", "--keys", KEYS, "--ip_config", "/srv/ws/ip.txt",
                             "--trainer_hosts", "/srv/ws/gpus.txt")
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertEqual(sorted(os.listdir(self.third.folder + KEYS)),
                         ["ca.pem", "client.key", "client.pem", "lock", "revoked"])
        self.assertIn("server.key", os.listdir(cluster.machines[0].folder + KEYS))
        self.check_results(self.results(
            self.launch(self.python("whole_trainer.py", "small"), guard=("--keys", KEYS))))
        shown = self.graphctl("doctor", "--workspace", "/srv/ws", "--ip_config", "ip.txt",
                              "--trainer_hosts", "gpus.txt", "--keys", KEYS)
        self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
        self.assertRegex(shown.stdout, r"10\.99\.0\.3: .* for trainers only\n")
        os.remove(self.third.folder + KEYS + "/client.pem")
        shown = self.graphctl("doctor", "--workspace", "/srv/ws", "--ip_config", "ip.txt",
                              "--trainer_hosts", "gpus.txt", "--keys", KEYS)
        self.assertEqual(shown.returncode, 1, shown.stdout)
        self.assertRegex(shown.stdout, r"10\.99\.0\.3: .*\n  fault: .*client")

    def test_with_a_shared_secret(self):
        made = self.graphctl("keys create", "--keys", KEYS, "--shared_secret")
        self.assertEqual(made.returncode, 0, made.stderr)
        sent = self.graphctl("keys distribute", "--keys", KEYS, "--ip_config", "/srv/ws/ip.txt",
                             "--trainer_hosts", "/srv/ws/gpus.txt")
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.check_results(self.results(self.launch(
            self.python("whole_trainer.py", "small"), guard=("--secret", KEYS + "/secret.key"))))

    def test_a_machine_that_ip_config_does_not_name_must_say_that_it_only_computes(self):
        served = self.launch("--keep_alive", "true", hosts=None)
        self.assertEqual(served.returncode, 0, served.stderr)

        def connect(role):
            # ip_config lies on the operator's machine; this one gets a copy of its own.
            program = ("import graphd; s = graphd.connect('small', ip_config='/tmp/ip.txt', "
                       f"role={role!r}); print(s.graph().num_nodes())")
            return subprocess.run(self.third.enter(
                "env", f"PYTHONPATH={cluster.root}/python", "sh", "-c",
                "printf '10.99.0.1\\n10.99.0.2\\n' > /tmp/ip.txt; exec /usr/bin/python3 -c \"$0\"",
                program), capture_output=True, text=True, timeout=DEADLINE * SLOW)
        refused = connect(None)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("/tmp/ip.txt names 10.99.0.1, 10.99.0.2, and none of these addresses belongs "
                      "to this machine", refused.stderr)
        self.assertIn("GRAPHD_ROLE=trainer", refused.stderr)
        taken = connect("trainer")
        self.assertEqual((taken.returncode, taken.stdout), (0, f"{NODES}\n"), taken.stderr)
        # Operators' commands work on any machine.
        listed = self.graphctl("tensors list", "--ip_config", "/tmp/ip.txt", where=self.third)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        stopped = self.graphctl("server stop", "--workspace", "/srv/ws", "--ip_config", "ip.txt")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)


class Launching(TrainerHosts):
    def test_trainers_run_beside_the_partitions_and_on_the_other_hosts(self):
        self.write("gpus.txt", "# GPUs\n10.99.0.3 2\n")
        show = 'echo "$(hostname) $RANK $LOCAL_RANK $WORLD_SIZE $GRAPHD_ROLE,$GRAPHD_PART_ID"'
        done = self.launch(show)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            "[10.99.0.1:0] m1 0 0 4 host,0", "[10.99.0.2:1] m2 1 0 4 host,1",
            "[10.99.0.3:2] m3 2 0 4 trainer,", "[10.99.0.3:3] m3 3 1 4 trainer,"])
        only = self.launch("--num_trainers", "0", show + "; echo $MASTER_ADDR")
        self.assertEqual(only.returncode, 0, only.stderr)
        self.assertEqual(sorted(only.stdout.splitlines()), [
            "[10.99.0.3:0] 10.99.0.3", "[10.99.0.3:0] m3 0 0 2 trainer,",
            "[10.99.0.3:1] 10.99.0.3", "[10.99.0.3:1] m3 1 1 2 trainer,"])
        plan = self.launch("--dry_run", "true")
        self.assertIn("host 10.99.0.3 (over ssh)\n  no daemon\n  trainer: rank 2", plan.stdout)

    def test_the_word_end_in_a_command_ends_nothing(self):
        done = self.launch("--", "echo", "end")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("] end\n"), 3, done.stdout)

    def test_a_name_that_is_loopback_there_does_if_all_trainers_are_there(self):
        options = ("--num_trainers", "0", "--ssh_accept_new", "--extra_envs", "PET_TEE=1",
                   "PET_REDIRECTS=1", "PET_LOG_DIR=/tmp")
        for launcher in ("ssh", "torchrun"):
            self.write("gpus.txt", "m3 2\n")
            done = self.launch("--launcher", launcher, *options, 'echo "up $RANK"')
            self.assertEqual(done.returncode, 0, done.stderr)
            for rank in range(2):
                self.assertEqual(done.stdout.count(f"up {rank}\n"), 1, done.stdout)
            self.write("gpus.txt", "m3 2\nm2\n")
            refused = self.launch("--launcher", launcher, *options, "true")
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("m3 is a loopback address on this host", refused.stderr)

    def test_a_launch_from_the_host_that_only_computes(self):
        for name, text in (("ip.txt", "10.99.0.1\n10.99.0.2\n"), ("gpus.txt", "localhost\n")):
            with open(f"{self.third.folder}/srv/ws/{name}", "w") as out:
                out.write(text)
        done = self.graphctl("launch", *self.launch_arguments("hostname"), where=self.third)
        for name in ("ip.txt", "gpus.txt"):
            os.remove(f"{self.third.folder}/srv/ws/{name}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[10.99.0.1:0] m1", "[10.99.0.2:1] m2", "[localhost:2] m3"])
        wait_until("all to be gone", lambda: not self.left(), 5)

    def test_scripts_are_copied_there_and_partitions_are_not(self):
        scripts = cluster.operator.folder + "/srv/scripts"
        os.makedirs(scripts, exist_ok=True)
        with open(scripts + "/show.py", "w") as out:
            out.write("import os; print(os.environ['GRAPHD_PART_CONFIG'], os.environ['RANK'])\n")
        copied = self.graphctl("copy", "--part_config", cluster.root + "/small.json", "--ip_config",
                               "/srv/ws/ip.txt", "--trainer_hosts", "/srv/ws/gpus.txt",
                               "--workspace", "/srv/copied", "--rel_data_path", "data",
                               "--script_folder", "/srv/scripts")
        self.assertEqual(copied.returncode, 0, copied.stderr)
        found = [sorted(os.listdir(machine.folder + "/srv/copied/data"))
                 for machine in cluster.machines]
        self.assertEqual(found, [["part0", "small.json"], ["part1", "small.json"], ["small.json"]])
        done = self.graphctl("launch", "--workspace", "/srv/copied", "--ip_config", "/srv/ws/ip.txt",
                             "--trainer_hosts", "/srv/ws/gpus.txt", "--part_config",
                             "data/small.json", "--memory_dir", "/run", "--insecure",
                             "/usr/bin/python3 scripts/show.py")
        for machine in cluster.machines:
            shutil.rmtree(machine.folder + "/srv/copied")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[10.99.0.{n}:{n - 1}] /srv/copied/data/small.json {n - 1}" for n in (1, 2, 3)])

    def test_no_server_runs_there_and_ps_shows_its_trainer(self):
        job = self.start_launch(self.python("whole_trainer.py", "small", "3600"))
        for _ in range(3):
            self.assertIn('"restored"', read_line(job.stdout))
        shown = self.graphctl("ps", "--workspace", "/srv/ws", "--ip_config", "ip.txt")
        self.assertEqual(shown.stdout.count("3 of 3 trainers attached here"), 2, shown.stdout)
        self.assertEqual([c for _, c in self.third.work() if "/graphd " in c], [])
        self.assertEqual(len([c for _, c in cluster.machines[0].work() if "/graphd " in c]), 1)
        self.assertEqual(self.third.sockets(), [])
        self.graphctl("stop", "--workspace", "/srv/ws", "--ip_config", "ip.txt")
        self.ends(job, 143)

    def test_errors_name_the_file_the_line_and_the_host(self):
        self.write("gpus.txt", "\n10.99.0.77\n")
        begin = time.monotonic()
        lost = self.launch("--connect_timeout", "2", "true")
        self.assertLess(time.monotonic() - begin, 15 * SLOW)
        self.assertEqual(lost.returncode, 5, lost.stderr)
        self.assertRegex(lost.stderr, r"10\.99\.0\.77 \(/srv/ws/gpus\.txt line 2\): ")
        for text, code, message in (
                ("10.99.0.3\n10.99.0.3\n", 2, "gpus.txt line 2: '10.99.0.3' is that of"),
                ("10.99.0.2\n", 2, "gpus.txt line 1: '10.99.0.2' is a host of ip_config already"),
                ("10.99.0.3 30050\n", 2, "no server has a port there"),
                ("no-such-host\n", 5, "no-such-host (/srv/ws/gpus.txt line 1): ")):
            self.write("gpus.txt", text)
            done = self.launch("--connect_timeout", "2", "true")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)
        missing = self.launch("true", hosts="none.txt")
        self.assertEqual(missing.returncode, 3, missing.stderr)
        self.assertIn("--trainer_hosts none.txt does not exist", missing.stderr)


class Ends(TrainerHosts):
    def test_exit_codes_of_its_trainers_are_those_of_the_job(self):
        done = self.launch('test "$RANK" = 2 && exit 7; sleep 3600')
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("trainer 2 on 10.99.0.3 exited with code 7; ended the job", done.stderr)
        wait_until("every host to be empty", lambda: not self.left(), 30)
        done = self.launch('test "$RANK" = 0 && exit 3; sleep 3600')
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_kill_9_of_its_trainer_ends_the_job_everywhere(self):
        job = self.start_launch(WAITING)
        self.up(job)
        os.kill(self.trainer_of_third(), signal.SIGKILL)
        said = self.ends(job, 137)
        self.assertIn("trainer 2 on 10.99.0.3", said)

    def test_kill_9_while_it_uses_the_servers_leaves_nothing_in_them(self):
        job = self.start_launch("--keep_alive", self.python("whole_trainer.py", "small", "3600"))
        pid = wait_until("a trainer that is connected", lambda: [
            p for p, c in self.third.processes()
            if "whole_trainer" in c and "python3" in c.split()[0] and "graphctl" not in c
            and self.connections(p) >= 4])[0]
        os.kill(pid, signal.SIGKILL)
        _, said = job.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(job.returncode, 137, said)
        wait_until("both servers to have no job", lambda: [
            each["status"]["jobs"] for each in json.loads(self.graphctl(
                "server status", "--json", "--workspace", "/srv/ws", "--ip_config",
                "ip.txt").stdout)] == [[], []])
        self.assertEqual([c.split()[0] for _, c in self.left()], [cluster.root + "/bin/graphd"] * 2)
        stopped = self.graphctl("server stop", "--workspace", "/srv/ws", "--ip_config", "ip.txt")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)

    def connections(self, pid):
        """Returns the number of TCP connections to servers in the network of a process."""
        with open(f"/proc/{pid}/net/tcp") as file:
            return sum(line.split()[2].endswith(f":{30050:04X}") and line.split()[3] == "01"
                       for line in file.readlines()[1:])

    def test_kill_9_of_its_supervisor_ends_the_job(self):
        job = self.start_launch(WAITING)
        self.up(job)
        for pid, command in self.third.work():
            if command.endswith("graphctl supervise"):
                os.kill(pid, signal.SIGKILL)
                break
        self.ends(job, 5)

    def test_an_interrupt_and_the_end_of_the_launcher_reach_it(self):
        job = self.start_launch(WAITING)
        self.up(job)
        os.kill(self.graphctl_pid(job), signal.SIGINT)
        self.ends(job, 130)
        job = self.start_launch(WAITING)
        self.up(job)
        os.kill(self.graphctl_pid(job), signal.SIGKILL)
        job.communicate()
        wait_until("every host to be empty", lambda: not self.left(), 30)

    def test_a_lost_host_ends_the_job(self):
        job = self.start_launch("--host_timeout", "2", WAITING)
        self.up(job)
        cluster.cable(self.third, False)
        try:
            self.assertIn("10.99.0.3", self.ends(job, 5))
        finally:
            cluster.cable(self.third, True)

    def test_the_end_of_a_server_ends_the_job_there_too(self):
        job = self.start_launch("--server_grace", "0", WAITING)
        self.up(job)
        for pid, command in cluster.machines[1].work():
            if "/bin/graphd " in command:
                os.kill(pid, signal.SIGTERM)
        self.ends(job, 5)


class Detached(TrainerHosts):
    def test_a_detached_job_is_started_again_watched_and_stopped_there(self):
        done = self.launch("--detach", "--max_restarts", "1",
                           "echo up $(hostname) $GRAPHD_RESTART_COUNT; sleep 3600")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = done.stdout.strip()
        self.assertIn("--trainer_hosts /srv/ws/gpus.txt", done.stderr)
        first = self.trainer_of_third()
        os.kill(first, signal.SIGKILL)
        wait_until("another attempt", lambda: [
            pid for pid, command in self.third.processes()
            if command == "sleep 3600" and pid != first])
        hosts = ("--workspace", "/srv/ws", "--ip_config", "ip.txt")
        wait_until("all lines of the second attempt", lambda: self.graphctl(
            "logs", job, *hosts, "--trainer_hosts", "gpus.txt").stdout.count(" 1\n") == 3)
        some = self.graphctl("logs", job, *hosts)
        self.assertIn("also has trainers on 10.99.0.3", some.stderr)
        self.assertNotIn("up m3", some.stdout)
        full = self.graphctl("logs", job, *hosts, "--trainer_hosts", "gpus.txt")
        for line in ("[10.99.0.1:0] up m1 0", "[10.99.0.3:2] up m3 0", "[10.99.0.3:2] up m3 1"):
            self.assertIn(line, full.stdout.splitlines(), full.stderr)
        self.assertNotIn("also has", full.stderr)
        # On a host of the job its id is enough, also on the one without a partition.
        there = self.graphctl("logs", job, where=self.third)
        self.assertEqual(sorted(there.stdout.splitlines()), sorted(full.stdout.splitlines()),
                         there.stderr)
        stopped = self.graphctl("stop", job, where=self.third)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        waited = self.graphctl("wait", job, *hosts, "--trainer_hosts", "gpus.txt")
        self.assertEqual(waited.returncode, 143, waited.stderr)
        wait_until("every host to be empty", lambda: not self.left(), 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
