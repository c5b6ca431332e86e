# SPDX-License-Identifier: Apache-2.0
"""Tests jobs whose server ends while they run: they continue when it returns within the grace
period, and end with an error otherwise."""

import os
import signal
import time
import unittest

from harness import SLOW, GraphctlTest, read_line, wait_until

# A trainer that ends when the file "end" exists.
WAITING = "echo up; while [ ! -e end ]; do sleep 0.01; done"


class ServerLoss(GraphctlTest):
    def setUp(self):
        super().setUp()
        self.write("ip.txt", "".join(f"127.0.0.1 {self.ports[0]}\n" for _ in range(2)))

    def up(self, job):
        for _ in range(2):
            self.assertIn("up", read_line(job.stdout))

    def notice(self, job, text):
        """Waits for a line of graphctl's own output that contains `text`."""
        return wait_until(text, lambda: next((line for line in [read_line(job.stderr)]
                                              if text in line), None))

    def kill_daemon(self, number=signal.SIGKILL):
        (pid,) = self.daemons()
        os.kill(pid, number)
        return pid

    def end(self, job):
        self.write("end", "")
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 0, err)

    def test_a_server_that_the_launch_started_is_started_again(self):
        job = self.start_launch(WAITING, trainers=1)
        self.up(job)
        killed = self.kill_daemon()
        line = self.notice(job, "was killed by signal 9 while the job was running")
        self.assertIn("starting it again", line)
        self.notice(job, "attached again to server 'ring' after")
        self.assertNotEqual(self.daemons(), [killed])
        self.assertEqual(len(self.daemons()), 1)
        self.end(job)
        self.assertEqual(self.left(), [])  # the second daemon ends with its last job, too

    def test_a_job_waits_for_a_server_that_a_user_starts_again(self):
        self.start_server()
        job = self.start_launch(WAITING, trainers=1)
        self.up(job)
        self.kill_daemon()
        self.assertIn("waiting up to 30 s for its return (--server_grace)",
                      self.notice(job, "has ended while the job was running"))
        self.start_server()
        self.notice(job, "attached again to server 'ring' after")
        self.assertEqual(self.daemons()[1:], [])
        # It is a member of the job again, and notices the next end, too.
        self.kill_daemon()
        self.notice(job, "waiting up to")
        self.start_server()
        self.notice(job, "attached again")
        self.end(job)
        self.stop_server()

    def test_a_server_that_does_not_return_ends_the_job_after_the_grace_period(self):
        self.start_server()
        job = self.start_launch("--server_grace", "1.5", WAITING, trainers=1)
        self.up(job)
        begin = time.monotonic()
        self.kill_daemon()
        self.notice(job, "waiting up to 1.5 s")
        _, err = job.communicate(timeout=20 * SLOW)
        took = time.monotonic() - begin
        self.assertEqual(job.returncode, 5)
        self.assertIn("has ended while the job was running, and has not returned within 1.5 s "
                      "(--server_grace); the end of its log", err)
        self.assertGreater(took, 1.4)
        self.assertLess(took, 1.5 + 2 * SLOW)
        self.assertEqual(self.left(), [])

    def test_a_server_that_was_stopped_is_not_started_again(self):
        job = self.start_launch("--server_grace", "1", WAITING, trainers=1)
        self.up(job)
        self.kill_daemon(signal.SIGTERM)
        self.notice(job, "has ended with code 0 while the job was running; waiting up to 1 s")
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5, err)
        self.assertIn("has not returned within 1 s", err)

    def test_without_a_grace_period_the_job_ends_with_the_server(self):
        job = self.start_launch("--server_grace", "0", WAITING, trainers=1)
        self.up(job)
        self.kill_daemon()
        begin = time.monotonic()
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertLess(time.monotonic() - begin, 5 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assertIn("was killed by signal 9 while the job was running; the end of its log", err)

    def test_an_interrupt_is_handled_while_the_job_waits_for_a_server(self):
        self.start_server()
        job = self.start_launch(WAITING, trainers=1)
        self.up(job)
        self.kill_daemon()
        self.notice(job, "waiting up to")
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assertLess(time.monotonic() - begin, 2 * SLOW)

    def test_a_server_that_fails_again_and_again_ends_the_job(self):
        job = self.start_launch(WAITING, trainers=1)
        self.up(job)
        for _ in range(10):
            self.kill_daemon()
            self.notice(job, "attached again")
        self.kill_daemon()
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assertIn("10 times within 300 s", err)
        self.assertEqual(self.left(), [])

    def test_the_trainers_of_an_ended_job_do_not_wait_for_its_server(self):
        self.start_server()
        job = self.start_launch("if [ $RANK = 0 ]; then " + WAITING + "; exit 3; fi; echo up; "
                                "exec sleep 3600", trainers=1)
        self.up(job)
        self.kill_daemon()
        self.notice(job, "waiting up to")
        self.write("end", "")
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 3, err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
