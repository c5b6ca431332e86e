# SPDX-License-Identifier: Apache-2.0
"""Tests jobs that live by themselves: `graphctl launch --detach`, attach, logs, wait, stop, and
--max_restarts. Two daemons on loopback stand for two hosts."""

import json
import os
import re
import signal
import time
import unittest

from harness import BIN, DEADLINE, SLOW, GraphctlTest, kill_all, read_line, wait_until

# A trainer that works until the file "finish" exists.
WORK = "echo up $RANK; while [ ! -e finish ]; do sleep 0.02; done; echo done $RANK"


class DetachTest(GraphctlTest):
    def detach(self, *arguments, trainers=1):
        """Launches a detached job; returns its id."""
        done = self.launch("--detach", *arguments, trainers=trainers)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = done.stdout.strip()
        self.assertRegex(job, r"^[0-9-]+$")
        return job

    def on_job(self, verb, job, *arguments):
        return self.graphctl(verb, job, "--server_name", "ring", "--ip_config", "ip.txt",
                             *arguments)

    def state(self, job, port):
        for root, _, files in os.walk(self.path("state")):
            if root.endswith(f"/{job}/{port}") and "state.json" in files:
                with open(os.path.join(root, "state.json")) as file:
                    return json.load(file)
        return {}

    def files(self, job, port):
        """Returns the names of the files that a supervisor keeps."""
        return {name for root, _, files in os.walk(self.path("state"))
                if root.endswith(f"/{job}/{port}") for name in files}

    def records(self):
        shown = self.graphctl("ps", "--server_name", "ring", "--ip_config", "ip.txt", "--json")
        # A server that is down has no status.
        return [host.get("status", {}).get("job_records", []) for host in json.loads(shown.stdout)]

    def read_bytes(self, path):
        """Returns the bytes of a file as text, "" if there is none."""
        if not os.path.exists(path):
            return ""
        with open(path, encoding="latin-1") as file:
            return file.read()

    def up(self, job, count):
        """Waits until the trainers of a job have written this number of lines with "up"."""
        wait_until(f"{count} trainers to be up",
                   lambda: self.on_job("logs", job).stdout.count("up") == count)

    def all_gone(self):
        wait_until("everything to be gone", lambda: not self.left(), 20)


class Detached(DetachTest):
    def folders_of_two(self):
        """Returns the directories in which two hosts keep the job that runs; none if they lack one."""
        folders = [root for root, _, files in os.walk(self.path("state"))
                   if "lock" in files and "supervisor.log" not in files]
        return folders if len(folders) == 2 else []

    def test_a_signal_while_the_hosts_detach_says_that_the_job_goes_on(self):
        self.write("slow_graphd", f"#!/bin/sh\nwhile [ ! -e {self.path('begin')} ]; do\n"
                                  f'sleep 0.02; done; exec {BIN}/graphd "$@"\n')
        os.chmod(self.path("slow_graphd"), 0o755)
        for pause in (0.2, 2, 20):
            launch = self.start_launch("--detach", "--graphd", self.path("slow_graphd"), "--",
                                       "sh", "-c", "touch up$RANK; exec sleep 3600", trainers=1)
            folders = wait_until("the job's directories", self.folders_of_two)
            # A supervisor has told its launcher that it is detached when it opens this log, which is
            # a pipe here, and waits until somebody reads it.
            for folder in folders:
                os.mkfifo(folder + "/supervisor.log")
            self.write("begin", "")
            wait_until("the trainers", lambda: os.path.exists(self.path("up0"))
                       and os.path.exists(self.path("up1")))
            time.sleep(pause * SLOW)
            launch.send_signal(signal.SIGINT)
            said = ""
            while "interrupted" not in said and "signal" not in said:
                said = read_line(launch.stderr)
            readers = [os.open(folder + "/supervisor.log", os.O_RDONLY | os.O_NONBLOCK)
                       for folder in folders]
            out, err = launch.communicate(timeout=DEADLINE * SLOW)
            self.assertEqual((launch.returncode, out), (130, ""))
            if "stop" in err:
                job = re.search("`graphctl stop ([0-9-]+) ", err)[1]
                self.assertEqual(self.on_job("stop", job).returncode, 0)
            self.all_gone()
            for reader in readers:
                os.close(reader)
            if "stop" in err:
                return
            for mark in ("up0", "up1", "begin"):  # the signal came before the hosts were to detach
                os.remove(self.path(mark))
        self.fail("the hosts were never detaching when the signal came")

    def test_it_outlives_its_launcher_and_keeps_output_and_exit_code(self):
        job = self.detach(WORK, trainers=2)
        self.assertIn(f"graphctl attach {job}", self.launch_hint)
        self.assertEqual(len(self.daemons()), 2)
        self.up(job, 4)
        logs = self.on_job("logs", job)
        self.assertEqual(self.lines(logs.stdout), [(r, f"up {r}") for r in range(4)], logs.stderr)
        # A watcher goes without harm.
        watcher = self.start("attach", job, "--server_name", "ring", "--ip_config", "ip.txt")
        for _ in range(4):
            self.assertIn("up", read_line(watcher.stdout))
        watcher.send_signal(signal.SIGINT)
        _, said = watcher.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(watcher.returncode, 130)
        self.assertIn(f"job {job} goes on; `graphctl stop {job}`", said)
        # On a host of the job, its id is enough.
        watcher, follower = self.start("attach", job), self.start("logs", "-f", job)
        for shown in (watcher, follower):
            self.assertIn("up", read_line(shown.stdout))
        self.write("finish", "")
        out, said = follower.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual((follower.returncode, out.count("done")), (0, 4), said)
        out, said = watcher.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(watcher.returncode, 0, said)
        self.assertEqual(out.count("done"), 4)
        self.assertIn(f"job {job} has ended: every trainer has succeeded", said)
        self.all_gone()
        self.assertEqual(self.sockets(), [])
        self.assertEqual(self.on_job("wait", job).returncode, 0)
        last = self.on_job("logs", job, "--lines", "1")
        self.assertEqual(self.lines(last.stdout), [(r, f"done {r}") for r in range(4)])

    def test_a_failure_ends_it_on_all_hosts_and_is_remembered(self):
        self.start_server()
        job = self.detach("if [ $RANK = 1 ]; then while [ ! -e fail ]; do sleep 0.02; done; "
                          "echo failing; exit 9; fi; " + WORK)
        waiter = self.start("wait", job)
        wait_until("both hosts to be heard", lambda: all(
            records and len(records[0]["hosts"]) == 2 for records in self.records()))
        running = self.graphctl("ps", "--server_name", "ring").stdout
        # A line on each host says what is attached there, and what the job does on all of them.
        lines = [line for line in running.splitlines() if job in line]
        self.assertEqual(len(lines), 2, running)
        for line in lines:
            self.assertRegex(line, ", 0 of 2 trainers attached here, hosts: ")
        self.write("fail", "")
        _, said = waiter.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(waiter.returncode, 9, said)
        self.assertRegex(said, f"job {job} has ended: trainer 1 on .* exited with code 9")
        wait_until("the job to be gone", lambda: not self.left(but="/graphd "))
        # Each daemon keeps the record, of both hosts.
        for records in self.records():
            self.assertEqual([h["phase"] for h in records[0]["hosts"]], ["over", "over"])
            self.assertEqual([h["code"] for h in records[0]["hosts"]], [9, 9])
        shown = self.graphctl("ps", "--server_name", "ring").stdout
        self.assertRegex(shown, f"job {job}, ended .* ago with exit code 9 \\(trainer 1 on")
        codes = {t["rank"]: t["code"] for p in self.ports for t in self.state(job, p)["trainers"]}
        self.assertEqual(codes, {0: 143, 1: 9})
        self.stop_server()

    def test_stop_gives_trainers_the_time_that_they_are_promised(self):
        job = self.detach("trap 'sleep 2; echo cleaned; exit 0' TERM; echo up; "
                          "while true; do sleep 0.05; done")
        self.up(job, 2)
        stopped = self.graphctl("stop", job, "--grace", "60")  # its id is enough here
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertIn(f"stopped job {job}", stopped.stdout)
        self.all_gone()
        self.assertEqual(self.on_job("logs", job).stdout.count("cleaned"), 2)
        again = self.graphctl("stop", job)
        self.assertEqual((again.returncode, again.stdout),
                         (0, f"job {job} had ended already; `graphctl wait {job}` says how\n"))
        same = self.graphctl("stop", job, "--job", job)
        self.assertEqual((same.returncode, same.stdout), (0, again.stdout), same.stderr)
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 143)
        self.assertIn("it was stopped by `graphctl stop`", waited.stderr)

    def test_a_watcher_of_much_output_may_go(self):
        # The queues of a watcher hold less than this output.
        job = self.detach("yes some line of output | head -c 25000000; " + WORK)
        wait_until("the output",
                   lambda: all(self.log_bytes(job, p) >= 25000000 for p in self.ports), 60)
        for leave in (lambda w: w.stdout.close(), lambda w: w.send_signal(signal.SIGINT)):
            watcher = self.start("logs", job, "--server_name", "ring", "--ip_config", "ip.txt")
            self.assertIn("some line", read_line(watcher.stdout))
            leave(watcher)
            self.assertIn(watcher.wait(DEADLINE * SLOW), (130, 141))
        self.write("finish", "")
        self.all_gone()

    def log_bytes(self, job, port):
        return sum(os.path.getsize(os.path.join(root, name))
                   for root, _, files in os.walk(self.path("state"))
                   if root.endswith(f"/{job}/{port}")
                   for name in files if name.startswith("trainer-"))

    def test_a_stop_on_one_host_stops_the_others(self):
        job = self.detach(WORK)
        with open(self.path("ip1.txt"), "w") as out:
            out.write(f"127.0.0.1 {self.ports[1]}\n")
        stopped = self.graphctl("stop", job, "--server_name", "ring", "--ip_config", "ip1.txt")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.all_gone()
        self.assertEqual(self.on_job("wait", job).returncode, 143)

    def test_a_killed_supervisor_ends_the_job(self):
        job = self.detach("--host_timeout", "2", WORK)
        os.kill(self.state(job, self.ports[1])["pid"], signal.SIGKILL)
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 5, waited.stderr)
        self.assertIn("the supervisor of job", waited.stderr)
        self.assertIn("has been silent for 2 s (--host_timeout); it is lost", waited.stderr)
        self.all_gone()

    def test_it_survives_the_death_of_the_server_where_the_hosts_meet(self):
        job = self.detach(WORK)
        first = [pid for pid, command in self.left()
                 if "/graphd " in command and f" {self.ports[0]}" in command]
        os.kill(first[0], signal.SIGKILL)
        wait_until("another server",
                   lambda: [p for p in self.daemons() if p not in first] and len(self.daemons()) == 2)
        wait_until("the record to be told again",
                   lambda: [len(r[0]["hosts"]) if r else 0 for r in self.records()] == [2, 2])
        self.write("finish", "")
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 0, waited.stderr)
        self.all_gone()

    def test_the_ends_of_jobs_are_known_after_servers_were_killed(self):
        self.start_server()
        job = self.detach("while [ ! -e fail ]; do sleep 0.02; done; exit 3")
        self.write("fail", "")
        self.assertEqual(self.on_job("wait", job).returncode, 3)
        wait_until("the job to be gone", lambda: not self.left(but="/graphd "))
        # A server writes all records together.
        later = self.detach("exit 0")
        for part in range(2):
            path = self.path(f"state/ring/part-{part}.job-records")
            wait_until("a record of the later job",
                       lambda path=path: later in self.read_bytes(path))
        self.assertEqual(self.on_job("wait", later).returncode, 0)
        wait_until("the later job to be gone", lambda: not self.left(but="/graphd "))
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        wait_until("the servers to be gone", lambda: not self.daemons())
        self.start_server()
        for records in self.records():
            record = next(record for record in records if record["job"] == job)
            self.assertEqual([(host["phase"], host["code"]) for host in record["hosts"]],
                             [("over", 3)] * 2)
        shown = self.graphctl("ps", "--server_name", "ring").stdout
        self.assertEqual(len(re.findall(f"job {job}, ended .* ago with exit code 3", shown)), 2,
                         shown)
        self.assertEqual(self.on_job("wait", job).returncode, 3)
        self.stop_server()

    def test_a_launch_that_fails_leaves_nothing(self):
        os.rename(self.path("part1"), self.path("away"))  # the second server can't load it
        done = self.launch("--detach", WORK)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("part1", done.stderr)
        self.assertNotIn("has not confirmed", done.stderr)
        self.assertEqual(done.stdout, "")
        self.all_gone()

    def test_messages_say_what_to_do(self):
        for verb in ("attach", "logs", "wait"):
            unknown = self.graphctl(verb, "1120-130501-1")
            self.assertEqual(unknown.returncode, 3)
            self.assertIn("give --ip_config", unknown.stderr)
            unknown = self.on_job(verb, "1120-130501-1")
            self.assertEqual(unknown.returncode, 3)
            self.assertIn("`graphctl launch` starts one", unknown.stderr)
            wrong = self.graphctl(verb, "../x")
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("is not the id of a job", wrong.stderr)
        for words in (("J", "--job", "K"), ("--job", "J", "--job", "K"), ("J", "K")):
            two = self.graphctl("stop", *words)
            self.assertEqual((two.returncode, two.stdout), (2, ""), two.stderr)
            self.assertIn("two jobs are given, J and K", two.stderr)

    def launch(self, *arguments, trainers=2):
        done = super().launch(*arguments, trainers=trainers)
        self.launch_hint = done.stderr
        return done


class Restarts(DetachTest):
    def test_failed_trainers_are_started_again(self):
        # The failing trainer waits until the others run, since its end is theirs.
        marks = self.path("runs-$GRAPHD_RESTART_COUNT-")
        command = ("echo attempt $GRAPHD_RESTART_COUNT of $RANK; touch %s$RANK; "
                   "[ $GRAPHD_RESTART_COUNT = 2 ] || [ $RANK != 1 ] || { "
                   "until [ $(ls %s? | wc -l) = 4 ]; do sleep 0.05; done; kill -9 $$; }; "
                   "[ $GRAPHD_RESTART_COUNT = 2 ] || sleep 3600" % (marks, marks))
        done = self.launch("--max_restarts", "3", command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(self.lines(done.stdout)),
                         sorted((r, f"attempt {a} of {r}") for r in range(4) for a in range(3)))
        self.assertRegex(done.stderr, r"starting the trainers again with \d trainers?; 2 of 3 restarts")
        self.all_gone()

    def test_no_more_often_than_allowed(self):
        # A job that ends before it is detached fails as an attached one would.
        job = self.detach("--max_restarts", "2", "while [ ! -e fail ]; do sleep 0.02; done; "
                          "exit $((7 + GRAPHD_RESTART_COUNT))")
        self.write("fail", "")
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 9, waited.stderr)
        self.all_gone()
        self.assertRegex(waited.stderr, "trainer . on .* exited with code 9")
        # A host may have failed again before another one has started.
        logs = self.on_job("logs", job).stdout
        self.assertRegex(logs, r"graphctl: started again with \d trainers?; 2 of 2 restarts")
        self.assertNotIn("3 of 2", logs)

    def test_a_detached_job_survives_the_death_of_all_its_trainers(self):
        job = self.detach("--max_restarts", "1", "echo $GRAPHD_RESTART_COUNT; " + WORK, trainers=2)
        self.up(job, 4)
        pids = [t["pid"] for p in self.ports for t in self.state(job, p)["trainers"]]
        self.assertEqual(len(pids), 4)
        supervisor = self.state(job, self.ports[0])["pid"]
        descriptors = len(os.listdir(f"/proc/{supervisor}/fd"))
        kill_all(pids)
        self.up(job, 8)
        # The pipes of the trainers before are closed, four here.
        self.assertLess(len(os.listdir(f"/proc/{supervisor}/fd")), descriptors + 4)
        self.write("finish", "")
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 0, waited.stderr)
        self.assertIn("started again with 4 trainers; 1 of 1 restart of --max_restarts is used",
                      waited.stderr)
        self.all_gone()

    def test_a_user_restarts_a_job_with_another_number_of_trainers(self):
        # A server without trainers keeps none.
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]} 1\n127.0.0.1 {self.ports[1]} 0\n")
        job = self.detach("echo up $RANK of $WORLD_SIZE; sleep 3600")
        for number in (3, 1):
            restarted = self.on_job("restart", job, "--num_trainers", str(number))
            self.assertEqual(restarted.stdout, f"started job {job} again with {number} trainer"
                             f"{'s' if number > 1 else ''}\n", restarted.stderr)
            wait_until("the trainers to run", lambda number=number: all(
                f"] up {rank} of {number}\n" in self.on_job("logs", job).stdout
                for rank in range(number)))
        self.assertEqual(self.on_job("restart", job, "--num_trainers", "0").returncode, 2)
        self.assertEqual(self.on_job("stop", job).returncode, 0)
        self.assertEqual(self.on_job("wait", job).returncode, 143)
        refused = self.on_job("restart", job)
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"job {job} has ended", refused.stderr)
        self.all_gone()

    def test_of_two_restarts_at_the_same_time_each_ends_soon(self):
        job = self.detach("echo up; exec sleep 3600")
        for _ in range(3):
            restarts = [self.start("restart", job) for _ in range(2)]
            said = [each.communicate(timeout=DEADLINE * SLOW)[1] for each in restarts]
            codes = sorted(each.returncode for each in restarts)
            self.assertIn(codes, ([0, 0], [0, 4]), said)
        self.assertEqual(self.on_job("stop", job).returncode, 0)
        self.all_gone()

    def test_a_job_that_is_stopped_during_a_restart_stops(self):
        job = self.detach("trap '' TERM; echo up; while :; do sleep 0.1; done")
        wait_until("the trainers", lambda: self.on_job("logs", job).stdout.count("] up") == 2)
        restart = self.start("restart", job, "--server_name", "ring", "--ip_config", "ip.txt",
                             "--grace", "600")
        wait_until("the trainers to be asked to end", lambda: all(
            self.state(job, port)["phase"] == "preparing" for port in self.ports))
        self.assertEqual(self.on_job("stop", job, "--grace", "1").returncode, 0)
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 143, waited.stderr)
        _, said = restart.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(restart.returncode, 5, said)
        self.assertIn(f"job {job} has ended: it was stopped", said)
        self.assertEqual(self.on_job("logs", job).stdout.count("] up"), 2)
        self.all_gone()

    def test_a_stop_counts_more_than_a_restart_at_the_same_time(self):
        job = self.detach("echo up; sleep 3600")
        supervisor = self.state(job, self.ports[0])["pid"]
        # The supervisor of the first host, and no other, finds both requests at once.
        self.write("first.txt", f"127.0.0.1 {self.ports[0]}\n")
        hosts = (job, "--server_name", "ring", "--ip_config", "first.txt")
        os.kill(supervisor, signal.SIGSTOP)
        try:
            commands = [self.start(verb, *hosts) for verb in ("stop", "restart")]
            wait_until("both requests", lambda: {"stop", "restart"} <= self.files(
                job, self.ports[0]))
        finally:
            os.kill(supervisor, signal.SIGCONT)
        codes = [(command.communicate(timeout=DEADLINE * SLOW), command.returncode)[1]
                 for command in commands]
        self.assertEqual(codes, [0, 5])
        self.assertEqual(self.on_job("wait", job).returncode, 143)
        self.assertEqual(self.on_job("logs", job).stdout.count("] up"), 2)
        self.all_gone()

    def test_the_launchers_end_ends_an_attached_job(self):
        launched = self.start_launch("--max_restarts", "3", WORK, trainers=1)
        for _ in range(2):
            self.assertIn("up", read_line(launched.stdout))
        launched.kill()
        self.all_gone()

    def test_an_interrupt_ends_an_attached_job(self):
        launched = self.start_launch("--max_restarts", "3", WORK, trainers=1)
        for _ in range(2):
            self.assertIn("up", read_line(launched.stdout))
        launched.send_signal(signal.SIGINT)
        launched.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(launched.returncode, 130)
        self.all_gone()


if __name__ == "__main__":
    unittest.main(verbosity=2)
