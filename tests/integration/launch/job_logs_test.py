# SPDX-License-Identifier: Apache-2.0
"""Tests what hosts keep of a job that its launcher leads: the output of its trainers, which
`graphctl logs` shows later, and how it ended. Two daemons on loopback stand for two hosts."""

import os
import re
import subprocess
import unittest

from harness import SLOW, GraphctlTest, read_line, wait_until


class JobLogs(GraphctlTest):
    def job_of(self, stderr):
        """Returns the id of the job, which the launcher tells."""
        return re.search(r"^graphctl: job (\S+) begins", stderr, re.M)[1]

    def on_job(self, verb, job, *arguments):
        return self.graphctl(verb, job, "--server_name", "ring", "--ip_config", "ip.txt",
                             *arguments)

    def kept(self):
        """Returns the sizes of the trainers' logs, by path below the directory of all jobs."""
        state = self.path("state")
        paths = [os.path.join(root, name) for root, _, files in os.walk(state)
                 for name in files if name.startswith("trainer-")]
        return {os.path.relpath(path, state): os.path.getsize(path) for path in paths}

    def test_the_output_and_the_exit_code_remain_after_the_job(self):
        done = self.launch("echo out $RANK; echo err >&2; test $RANK != 1 || exit 7")
        self.assertEqual(done.returncode, 7)
        job = self.job_of(done.stderr)
        self.assertIn(f"exited with code 7; ended the job; `graphctl logs {job}`", done.stderr)
        shown = self.on_job("logs", job)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        lines = self.lines(shown.stdout)
        self.assertLessEqual({(1, "out 1"), (1, "err")}, set(lines))
        self.assertEqual(self.lines(self.graphctl("logs", job).stdout), lines)  # its id is enough
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 7)
        self.assertIn(f"job {job} has ended: trainer 1 on 127.0.0.1:{self.ports[0]} "
                      "exited with code 7;", waited.stderr)

    def test_a_job_that_has_succeeded_says_so(self):
        job = self.job_of(self.launch("echo $RANK").stderr)
        self.assertEqual(self.lines(self.on_job("logs", job).stdout),
                         [(rank, str(rank)) for rank in range(4)])
        waited = self.on_job("wait", job)
        self.assertEqual((waited.returncode, waited.stderr),
                         (0, f"graphctl: job {job} has ended: every trainer has succeeded\n"))
        again = self.graphctl("stop", job)
        self.assertIn(f"job {job} had ended already", again.stdout + again.stderr)

    def test_the_output_remains_when_the_launcher_is_killed(self):
        launcher = self.start_launch("echo up; while true; do sleep 0.1; done", trainers=1)
        for _ in range(2):
            self.assertIn("up", read_line(launcher.stdout))
        launcher.kill()
        job = self.job_of(launcher.communicate()[1])
        wait_until("everything to be gone", lambda: not self.left())
        self.assertEqual(self.lines(self.on_job("logs", job).stdout), [(0, "up"), (1, "up")])
        waited = self.on_job("wait", job)
        self.assertEqual(waited.returncode, 5)
        self.assertIn("graphctl launch has gone", waited.stderr)

    def test_a_job_is_watched_and_stopped_from_elsewhere(self):
        launcher = self.start_launch("echo up; while true; do sleep 0.1; done", trainers=1)
        for _ in range(2):
            self.assertIn("up", read_line(launcher.stdout))
        ids = wait_until("the job's id", lambda: re.findall(r"job (\S+) begins", read_line(
            launcher.stderr)))
        watcher = self.start("logs", "-f", ids[0])
        self.assertIn("up", read_line(watcher.stdout))
        stopped = self.graphctl("stop", ids[0])
        self.assertEqual((stopped.returncode, stopped.stdout), (0, f"stopped job {ids[0]}\n"))
        self.assertEqual(launcher.wait(20 * SLOW), 143)
        _, said = watcher.communicate(timeout=20 * SLOW)
        self.assertEqual(watcher.returncode, 143, said)

    def test_a_trainer_that_prints_much_keeps_the_last_32_mib_at_most(self):
        launcher = self.start_launch(
            "yes some line of output | head -c 50000000; echo; echo the end", trainers=1,
            stdout=subprocess.DEVNULL)
        _, said = launcher.communicate(timeout=60 * SLOW)
        self.assertEqual(launcher.returncode, 0, said)
        logs = self.kept()
        self.assertEqual(len(logs), 4, logs)
        self.assertLessEqual(max(logs.values()), 16 << 20)
        self.assertGreater(sum(logs.values()), 2 * (16 << 20))
        shown = self.on_job("logs", self.job_of(said), "--lines", "1")
        self.assertEqual(self.lines(shown.stdout), [(0, "the end"), (1, "the end")])

    def test_the_last_32_jobs_are_kept(self):
        for number in range(34):
            os.makedirs(self.path(f"state/{self.jobs_root()}/old-{number}/{self.ports[0]}"))
            self.write(f"state/{self.jobs_root()}/old-{number}/{self.ports[0]}/state.json", "{}")
        job = self.job_of(self.launch("true").stderr)
        left = os.listdir(self.path("state/" + self.jobs_root()))
        self.assertLessEqual(len(left), 33)
        self.assertIn(job, left)

    def test_no_logs_keeps_nothing(self):
        done = self.launch("--no_logs", "echo out; exit 3", trainers=1)
        self.assertEqual(done.returncode, 3)
        self.assertNotIn("graphctl logs", done.stderr)
        self.assertEqual(self.kept(), {})
        for other in (["--detach"], ["--max_restarts", "1"], ["--log_dir", "logs"]):
            refused = self.launch("--no_logs", *other, "true")
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--no_logs", refused.stderr)

    def test_logs_shows_what_log_dir_has(self):
        done = self.launch("--log_dir", "logs", "echo out", trainers=1)
        self.assertEqual(self.kept(), {})
        shown = self.on_job("logs", self.job_of(done.stderr))
        self.assertEqual(self.lines(shown.stdout), [(0, "out"), (1, "out")])

    def test_a_job_runs_where_nothing_can_be_kept(self):
        self.write("file", "")
        self.environment["GRAPHD_JOBS_DIR"] = self.path("file")
        done = self.launch("echo out", trainers=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines(done.stdout), [(0, "out"), (1, "out")])
        self.assertIn("will not know this job: ", done.stderr)
        self.assertIn(self.path("file"), done.stderr)

    def jobs_root(self):
        os.makedirs(self.path("state"), exist_ok=True)
        return f"jobs-{os.uname().nodename}-{os.geteuid()}"


if __name__ == "__main__":
    unittest.main()
