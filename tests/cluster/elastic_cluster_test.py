# SPDX-License-Identifier: Apache-2.0
"""Tests a job whose number of trainers changes while it lives: two hosts with partitions, and a third
that only computes, which is lost and comes back."""

import os
import re
import shutil
import signal
import unittest

from cluster_case import parent_of
from cluster_training import TOOLS, TrainingCase, start_training_cluster
from harness import SLOW, kill_all, wait_until

HOSTS = ("--workspace", "/srv/ws", "--ip_config", "ip.txt")
STEPS, PAUSE_AFTER = 50, 12
# Seconds until a host is lost; on a busy machine, more until one is heard.
HOST_TIMEOUT = str(4 * SLOW)
# The beginnings of names of files.
LEFT_BY_TRAINERS = ("beat-", "begin-", "refused-", "rows", "starts", "writes-")


def setUpModule():
    global cluster
    cluster = start_training_cluster()
    unittest.addModuleCleanup(cluster.close)
    for name in ("resuming_trainer.py", "fenced_trainer.py"):
        shutil.copy(os.path.join(TOOLS, name), cluster.root + "/bin")


class Elastic(TrainingCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        self.write("gpus.txt", "10.99.0.3\n")

    def tearDown(self):
        cluster.cable(self.third, True)
        for machine in cluster.machines:
            for name in os.listdir(machine.folder + "/srv/ws"):
                if name.startswith(LEFT_BY_TRAINERS):
                    os.remove(f"{machine.folder}/srv/ws/{name}")
        super().tearDown()

    def detach(self, *arguments):
        done = self.launch("--trainer_hosts", "gpus.txt", "--detach", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def ps(self):
        return self.graphctl("ps", *HOSTS).stdout

    def logs(self, job):
        """Returns what the trainers have written, those on the third host if it can be reached."""
        return self.graphctl("logs", job, *HOSTS, "--trainer_hosts", "gpus.txt",
                             "--connect_timeout", "2").stdout

    def restart(self, job, *arguments, where=None):
        """Restarts a job; returns what graphctl prints and its messages."""
        hosts = () if where else HOSTS
        done = self.graphctl("restart", job, *hosts, *arguments, where=where)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def refuse_restart(self, job, *arguments):
        done = self.graphctl("restart", job, *HOSTS, *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def stop(self, job):
        stopped = self.graphctl("stop", job, *HOSTS)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        waited = self.graphctl("wait", job, *HOSTS)
        self.assertEqual(waited.returncode, 143, waited.stderr)
        wait_until("every host to be empty", lambda: not self.left(), 30)

    def read(self, machine, name):
        """Returns what trainers have left in a file; nothing if there is none."""
        try:
            with open(f"{machine.folder}/srv/ws/{name}") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_it_goes_on_with_fewer_and_with_more_trainers_from_its_last_checkpoint(self):
        words = self.python("resuming_trainer.py", "{}", str(STEPS), "0", "{}", "go")
        kept = self.launch("--keep_alive", words.format("alone", -1))
        self.assertEqual(kept.returncode, 0, kept.stderr + kept.stdout)
        job = self.detach("--max_restarts", "2", "--min_trainers", "3", "--host_timeout", HOST_TIMEOUT,
                          "--num_trainers", "2", words.format("job", PAUSE_AFTER))

        def paused(step, trainers):
            def all_wait():
                logs = self.logs(job)
                self.assertNotIn("Traceback", logs)
                self.assertNotRegex(self.ps(), f"job {job}.* ended")
                return len(self.trainers("resuming_trainer")) == trainers and \
                    logs.count(f"paused after step {step}\n") == trainers and logs
            logs = wait_until(f"{trainers} trainers to pause", all_wait, 60)
            self.assertEqual(logs.count(f"begins at step {step - PAUSE_AFTER} of {STEPS}, "
                                        f"{trainers} trainers"), trainers, logs)

        # All trainers are killed, and the third host is lost, so that four are left.
        paused(12, 6)
        cluster.cable(self.third, False)
        kill_all(self.trainers("resuming_trainer"))
        paused(22, 4)
        self.assertRegex(self.ps(), f"job {job}, .*started again 1 of 2 times")
        self.assertIn("10.99.0.3 lost", self.ps())
        # A request that can't be is refused, and changes nothing.
        before = self.trainers("resuming_trainer")
        self.assertIn(f"job {job} goes on as it was: 2 trainers are left without the hosts that are "
                      "lost, fewer than 3 (--min_trainers)",
                      self.refuse_restart(job, "--num_trainers", "1"))
        self.assertEqual(self.trainers("resuming_trainer"), before)
        self.assertRegex(self.ps(), f"job {job}, .*started again 1 of 2 times,")
        # The host is back, and takes part again at the next restart, for which a user asks.
        cluster.cable(self.third, True)
        wait_until("the third host to be back", lambda: "10.99.0.3 away" in self.ps(), 60)
        # ps asks every host. The first one, which decides, may learn of the third a moment later.
        self.assertEqual(
            wait_until("the job to be restarted", lambda: self.graphctl(
                "restart", job, *HOSTS, "--num_trainers", "1").stdout, 60),
            f"started job {job} again with 3 trainers\n")
        paused(32, 3)
        # A trainer that fails changes nothing about the number.
        os.kill(self.trainers("resuming_trainer")[-1], signal.SIGKILL)
        paused(42, 3)
        # The id is enough on a host of the job.
        self.assertEqual(self.restart(job, "--num_trainers", "2", where=self.third)[0],
                         f"started job {job} again with 6 trainers\n")
        waited = self.graphctl("wait", job, *HOSTS, "--trainer_hosts", "gpus.txt")
        logs = self.logs(job)
        self.assertEqual(waited.returncode, 0, waited.stderr + logs)
        self.check_states(logs)
        self.assertEqual(self.rows_at_the_end(logs, 6), self.rows_at_the_end(kept.stdout, 2))
        wait_until("the job to be gone",
                   lambda: not [c for _, c in self.left() if "/graphd " not in c], 30)
        self.assertEqual(self.graphctl("server stop", *HOSTS).returncode, 0)

    def check_states(self, logs):
        """Compares what trainers had when they began with what the checkpoint had."""
        kept = dict(re.findall(r"kept step (\d+) with (.*)\n", logs))
        begun = re.findall(r"begins at step (\d+) of .*\n.* begins with (.*)\n", logs)
        later = [(step, rows) for step, rows in begun if step != "0"]
        self.assertEqual(sorted({step for step, _ in later}), ["10", "20", "30", "40"])
        for step, rows in later:
            self.assertEqual(rows, kept[step], f"step {step}")
        self.assertEqual(len(set(kept.values())), len(kept), kept)  # each step changes the rows

    def rows_at_the_end(self, logs, count):
        found = re.findall(r"ends with rows of (.*)\n", logs)
        self.assertEqual((len(found), len(set(found))), (count, 1), logs)
        return found[0]

    def test_it_ends_if_too_few_trainers_are_left(self):
        job = self.detach("--max_restarts", "2", "--min_trainers", "3", "--host_timeout", HOST_TIMEOUT,
                          "--server_grace", "3", "sleep 3600")
        cluster.cable(self.third, False)
        waited = self.graphctl("wait", job, *HOSTS)
        self.assertEqual(waited.returncode, 5, waited.stderr)
        self.assertIn("2 trainers are left without the hosts that are lost, fewer than 3 "
                      "(--min_trainers)", waited.stderr)
        # The lost host waits only until it sees that the job has ended.
        cluster.cable(self.third, True)
        wait_until("every host to be empty", lambda: not self.left(), 60)

    def test_a_host_that_is_cut_off_has_no_trainer_when_the_others_go_on(self):
        job = self.detach("--max_restarts", "2", "--min_trainers", "2", "--host_timeout", HOST_TIMEOUT,
                          "date +%s.%N > begin-$GRAPHD_RESTART_COUNT; "
                          # A trainer that is killed leaves a whole file.
                          "while :; do date +%s.%N > beat-new; "
                          "mv beat-new beat-$GRAPHD_RESTART_COUNT; sleep 0.02; done")
        wait_until("a trainer there", lambda: self.read(self.third, "beat-0"))
        cluster.cable(self.third, False)
        others = cluster.machines[:2]
        begins = [wait_until("the others to go on", lambda each=each: self.read(each, "begin-1"), 60)
                  for each in others]
        self.assertEqual([command for _, command in self.third.processes()
                          if "beat-" in command and "graphctl" not in command], [])
        self.assertLess(float(self.read(self.third, "beat-0")), min(float(each) for each in begins))
        cluster.cable(self.third, True)
        wait_until("the third host to be back", lambda: "10.99.0.3 away" in self.ps(), 60)
        self.assertEqual(self.read(self.third, "begin-1"), "")
        self.stop(job)

    def test_a_host_that_is_back_before_it_is_lost_takes_part_again(self):
        job = self.detach("--max_restarts", "1", "--min_trainers", "2", "--host_timeout",
                          str(10 + 4 * SLOW), "echo up $GRAPHD_RESTART_COUNT of $WORLD_SIZE; "
                          "echo $GRAPHD_RESTART_COUNT >> starts; exec sleep 3600")
        self.wait_for_lines(job, "] up 0 of 3\n", 3)
        cluster.cable(self.third, False)
        wait_until("its trainer to end", lambda: "sleep 3600" not in [
            command for _, command in self.third.processes()], 30 + 8 * SLOW)
        cluster.cable(self.third, True)
        self.wait_for_lines(job, "] up 1 of 3\n", 3)
        self.assertEqual(self.read(self.third, "starts").split(), ["0", "1"])
        # It counts as no restart of the job.
        shown = self.ps()
        self.assertRegex(shown, f"job {job}, ")
        self.assertNotRegex(shown, f"job {job}, .*started again 1")
        self.stop(job)

    def test_a_trainer_that_its_host_cannot_end_changes_no_rows_any_more(self):
        job = self.detach("--max_restarts", "2", "--min_trainers", "2", "--host_timeout", HOST_TIMEOUT,
                          self.python("fenced_trainer.py"))
        first = cluster.machines[0]
        wait_until("the trainer to write", lambda: os.path.exists(
            self.third.folder + "/srv/ws/writes-0"), 30)
        trainer = self.trainers("fenced_trainer")[-1]
        supervisor = parent_of(trainer)
        os.kill(supervisor, signal.SIGSTOP)
        try:
            refused = wait_until("the old trainer's error",
                                 lambda: self.read(self.third, "refused-0"), 60)
            self.assertIn("was started again", refused)
            self.assertEqual(wait_until("rows", lambda: self.read(first, "rows"), 30), "kept")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        wait_until("the third host to wait", lambda: "10.99.0.3 away" in self.ps(), 60)
        self.stop(job)

    def test_a_host_whose_supervisor_has_ended_joins_again(self):
        job = self.detach("--max_restarts", "3", "--min_trainers", "2", "--host_timeout", HOST_TIMEOUT,
                          "echo up $GRAPHD_RESTART_COUNT of $WORLD_SIZE; "
                          "echo $GRAPHD_RESTART_COUNT >> starts; exec sleep 3600")
        self.wait_for_lines(job, "] up 0 of 3\n", 3)
        attempt, starts = 0, ["0"]
        # A machine that crashes kills it, and one that is shut down tells it to end.
        for number in (signal.SIGKILL, signal.SIGTERM):
            os.kill(self.supervisor(), number)
            attempt += 1
            self.wait_for_lines(job, f"] up {attempt} of 2\n", 2)
            self.assertEqual(self.third.work(), [])
            self.assertEqual(self.restart(job, "--trainer_hosts", "gpus.txt")[0],
                             f"started job {job} again with 3 trainers\n")
            attempt += 1
            starts.append(str(attempt))
            self.wait_for_lines(job, f"] up {attempt} of 3\n", 3)
            self.assertEqual(self.read(self.third, "starts").split(), starts)
        # The host joins before the others miss it, and nevertheless starts its trainers once more.
        os.kill(self.supervisor(), signal.SIGKILL)
        self.assertEqual(self.restart(job, "--trainer_hosts", "gpus.txt")[0],
                         f"started job {job} again with 3 trainers\n")
        starts.append(wait_until("the third host's trainer", lambda: self.read(
            self.third, "starts").split()[len(starts):], 30)[0])
        self.wait_for_lines(job, f"] up {starts[-1]} of 3\n", 3)
        self.assertEqual(self.read(self.third, "starts").split(), starts)
        self.stop(job)

    def test_a_host_that_cannot_join_is_named(self):
        job = self.detach("--max_restarts", "2", "--min_trainers", "2", "--host_timeout", HOST_TIMEOUT,
                          "echo up $GRAPHD_RESTART_COUNT of $WORLD_SIZE; exec sleep 3600")
        os.kill(self.supervisor(), signal.SIGKILL)
        self.wait_for_lines(job, "] up 1 of 2\n", 2)
        workspace = self.third.folder + "/srv/ws"
        os.rename(workspace, workspace + "-away")
        try:
            printed, said = self.restart(job, "--trainer_hosts", "gpus.txt")
        finally:
            os.rename(workspace + "-away", workspace)
        self.assertEqual(printed,
                         f"started job {job} again with 2 trainers, without 10.99.0.3\n")
        self.assertIn("10.99.0.3: workspace /srv/ws is not a directory on this host", said)
        self.wait_for_lines(job, "] up 2 of 2\n", 2)
        self.stop(job)

    def wait_for_lines(self, job, line, count):
        wait_until(f"{count} lines of {line!r}", lambda: self.logs(job).count(line) == count, 30)

    def supervisor(self):
        """Returns the supervisor on the third host."""
        return parent_of(wait_until("a trainer there", lambda: [
            pid for pid, command in self.third.processes() if command == "sleep 3600"])[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
