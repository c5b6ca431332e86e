# SPDX-License-Identifier: Apache-2.0
"""Tests the end of jobs: by a failure, a signal, a killed process. No process may remain for longer
than a second, although the trainers ignore SIGTERM and have helpers in other sessions."""

import array
import fcntl
import os
import signal
import termios
import time
import unittest

from harness import BIN, SLOW, GraphctlTest, read_line, wait_until

# A trainer that refuses to end: it ignores TERM, INT and HUP, and has a helper in another session
# whose parent has ended, and another helper in the background.
STUBBORN = ("trap '' TERM INT HUP; (setsid sleep 3600 &) ; sleep 3600 & "
            "echo up; while true; do sleep 3600; done")
WITHIN = 1.0 * SLOW


# A daemon that listens from its start and loads for a long time, like those of large graphs.
LOADING = f"""#!/usr/bin/python3
import os, socket, sys, time
path = sys.argv[sys.argv.index("--runtime_dir") + 1] + "/ring/" + \\
    sys.argv[sys.argv.index("--port") + 1] + ".sock"
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen()
time.sleep(float(os.environ["LOAD_SECONDS"]))
os.unlink(path)
os.execv("{BIN}/graphd", sys.argv)
"""


def is_full(pipe):
    """Tells whether a writer would block, which happens before all pages of the pipe are full."""
    size = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, size)
    return size[0] > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) / 2


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


class JobEnd(GraphctlTest):
    def up(self, job, count=4):
        """Waits until `count` trainers have printed "up"; their helpers are running then."""
        for _ in range(count):
            self.assertIn("up", read_line(job.stdout))

    def assert_gone(self, since, within=WITHIN):
        wait_until("everything to be gone", lambda: not self.left(), 10)
        took = time.monotonic() - since
        print(f"    nothing left after {took:.3f} s")
        self.assertLess(took, within)
        wait_until("the sockets to be gone", lambda: not self.sockets(), 10)

    def test_one_trainers_failure_ends_all_within_a_second(self):
        job = self.start_launch("if [ $RANK = 3 ]; then echo up; while [ ! -e fail ]; do "
                                "sleep 0.01; done; exit 9; fi; " + STUBBORN)
        self.up(job)
        begin = time.monotonic()
        self.write("fail", "")
        job.communicate(timeout=20 * SLOW)
        took = time.monotonic() - begin
        self.assertEqual(job.returncode, 9)
        self.assertLess(took, WITHIN + 0.2)  # the trainer checks for its file every 10 ms
        self.assert_gone(begin, WITHIN + 0.2)

    def test_trainers_that_handle_sigterm_can_clean_up(self):
        job = self.start_launch("trap 'echo cleaned > done.$RANK; exit 0' TERM; echo up; "
                                "while true; do sleep 0.05; done")
        self.up(job)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual([self.read(f"done.{rank}") for rank in range(4)], ["cleaned\n"] * 4)

    def test_interrupt_ends_the_job_with_exit_code_130(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(number):
                job = self.start_launch(STUBBORN)
                self.up(job)
                begin = time.monotonic()
                job.send_signal(number)
                job.communicate(timeout=20 * SLOW)
                self.assertEqual(job.returncode, code)
                self.assert_gone(begin)

    def test_a_second_interrupt_does_not_wait(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        wait_until("graphctl to notice the first", lambda: "interrupted" in read_line(job.stderr))
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assert_gone(begin, 0.5 * SLOW)

    def test_ctrl_c_in_a_terminal_reaches_only_graphctl(self):
        # The terminal's signal goes to the whole foreground group, which is graphctl's.
        job = self.start_launch(STUBBORN, start_new_session=True)
        self.up(job)
        begin = time.monotonic()
        os.killpg(job.pid, signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assert_gone(begin)

    def test_an_interrupt_is_handled_while_nobody_reads_the_output(self):
        job = self.start_launch("while true; do seq 1 100000; done")
        wait_until("the pipe to be full", lambda: is_full(job.stdout))
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(20 * SLOW), 130)
        self.assert_gone(begin)
        self.assertIn("interrupted", job.stderr.read())

    def test_trainers_under_torchrun_end_as_others(self):
        os.mkdir(self.path("logs"))
        # Debian's torchrun needs these settings.
        settings = ("PET_TEE=1", "PET_REDIRECTS=1", "PET_LOG_DIR=" + self.path("logs"))
        job = self.start_launch("--launcher", "torchrun", "--extra_envs", *settings, STUBBORN)
        self.up(job)
        self.assertEqual(len([c for _, c in self.left() if "torchrun --nnodes 2" in c]), 2)
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(20 * SLOW), 130)
        self.assert_gone(begin)

    def test_an_ignored_signal_stays_ignored(self):
        # Ignore the signal like nohup and a shell's background jobs.
        job = self.start_launch("echo up; while [ ! -e end ]; do sleep 0.01; done",
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.up(job)
        job.send_signal(signal.SIGHUP)
        self.write("end", "")
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 0, err)

    def test_a_killed_graphctl_leaves_no_process(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        begin = time.monotonic()
        job.kill()
        self.assert_gone(begin)

    def supervisors(self, job):
        """Returns (guard, supervisor) of each host."""
        pairs = []
        for guard in self.children(job.pid):
            pairs.append((guard, self.children(guard)[0]))
        self.assertEqual(len(pairs), 2)
        return pairs

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def test_a_killed_supervisor_leaves_no_process_and_ends_the_job(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        _, supervisor = self.supervisors(job)[0]
        begin = time.monotonic()
        os.kill(supervisor, signal.SIGKILL)
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assertIn("supervisor was killed by signal 9", err)
        self.assert_gone(begin)

    def test_a_killed_guard_leaves_no_process_and_ends_the_job(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        guard, _ = self.supervisors(job)[1]
        begin = time.monotonic()
        os.kill(guard, signal.SIGKILL)
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assertIn("graphd-guard, the process that watches the supervisor, was killed", err)
        self.assert_gone(begin)

    def test_graphctl_and_all_supervisors_killed_at_once_leave_no_trainer(self):
        job = self.start_launch("echo up; exec sleep 3600")
        self.up(job)
        pids = [job.pid] + [pid for pair in self.supervisors(job) for pid in pair]
        begin = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.assert_gone(begin, 2 * SLOW)  # the daemons notice the end of their last job

    def test_every_graphctl_killed_by_name_leaves_no_trainers_children(self):
        job = self.start_launch("--keep_alive", "echo up; sleep 3600 | cat; true")
        self.up(job)
        wait_until("all to run", lambda: sum(c == "sleep 3600" for _, c in self.left()) == 4)
        begin = time.monotonic()
        for pid, _ in self.left():
            if comm(pid) == "graphctl":  # the name by which pkill finds processes
                os.kill(pid, signal.SIGKILL)
        wait_until("all but the servers to be gone", lambda: len(self.left()) == 2, 10)
        self.assertLess(time.monotonic() - begin, WITHIN)
        self.assertEqual(len(self.daemons()), 2)
        self.stop_server()

    def test_a_killed_trainer_ends_the_job(self):
        job = self.start_launch("echo up $$; exec sleep 3600")
        pids = [int(read_line(job.stdout).split()[-1]) for _ in range(4)]
        begin = time.monotonic()
        os.kill(pids[2], signal.SIGKILL)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 137)
        self.assert_gone(begin)

    def test_helpers_of_a_successful_job_end_with_it(self):
        done = self.launch("(setsid sleep 3600 >/dev/null 2>&1 &); sleep 3600 & echo up")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.left(), [])

    def test_an_interrupt_while_the_server_loads_also_ends_the_server(self):
        # A daemon that never becomes ready.
        self.write("slow", "#!/bin/sh\nexec sleep 3600\n")
        os.chmod(self.path("slow"), 0o755)
        job = self.start_launch("--graphd", self.path("slow"), "true")
        wait_until("the daemons to be started", lambda: "starting" in read_line(job.stderr))
        wait_until("both to be there", lambda: sum("3600" in c for _, c in self.left()) == 2)
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assert_gone(begin)

    def loading_daemon(self, seconds):
        self.environment["LOAD_SECONDS"] = str(seconds)
        self.write("loading", LOADING)
        os.chmod(self.path("loading"), 0o755)
        return ("--graphd", self.path("loading"))

    def test_an_interrupt_is_handled_while_a_listening_server_loads(self):
        job = self.start_launch(*self.loading_daemon(3600), "true")
        wait_until("both to listen", lambda: len(self.sockets()) == 2)
        begin = time.monotonic()
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assert_gone(begin)

    def test_jobs_wait_for_a_loading_server_and_start_when_it_is_ready(self):
        first = self.start_launch(*self.loading_daemon(1.5), "sleep 0.3", trainers=1)
        wait_until("both to listen", lambda: len(self.sockets()) == 2)
        second = self.start_launch("sleep 0.3", trainers=1)
        for job in (first, second):
            _, err = job.communicate(timeout=20 * SLOW)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(err.count("server 'ring' in "), 2)
        # When two jobs end at once, neither knows that it is the last one.
        wait_until("the server to end with its last job", lambda: not self.left(), 5)

    def test_a_server_that_hangs_is_reported(self):
        self.start_server()
        stopped = self.daemons()[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            job = self.start_launch("true", trainers=1)
            wait_until("the notice", lambda: "does not answer yet" in read_line(job.stderr))
            os.kill(stopped, signal.SIGCONT)
            _, err = job.communicate(timeout=20 * SLOW)
            self.assertEqual(job.returncode, 0, err)
        finally:
            os.kill(stopped, signal.SIGCONT)
        self.stop_server()

    def test_a_server_that_never_becomes_ready_is_an_error(self):
        self.write("slow", "#!/bin/sh\necho loading, loading\nexec sleep 3600\n")
        os.chmod(self.path("slow"), 0o755)
        done = self.launch("--graphd", self.path("slow"), "--start_timeout", "0.5", "true")
        self.assertEqual(done.returncode, 7)
        self.assertIn("--start_timeout", done.stderr)
        self.assertIn("loading, loading", done.stderr)
        self.assertEqual(self.left(), [])

    def test_a_host_without_trainers_serves_until_the_end(self):
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]}\n127.0.0.1 {self.ports[1]} 0\n")
        job = self.start_launch("echo up; while [ ! -e end ]; do sleep 0.01; done", trainers=1)
        self.up(job, 1)
        status = self.graphctl("server", "status", "--server_name", "ring", "--ip_config",
                               "ip.txt")
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(status.stdout.count("job "), 2)
        begin = time.monotonic()
        self.write("end", "")
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 0)
        self.assert_gone(begin)

    def test_the_death_of_a_server_without_trainers_ends_the_job(self):
        self.write("ip.txt", f"127.0.0.1 {self.ports[0]}\n127.0.0.1 {self.ports[1]} 0\n")
        job = self.start_launch("--server_grace", "0", "echo up; exec sleep 3600", trainers=1)
        self.up(job, 1)
        server = [pid for pid, c in self.left() if f"--port {self.ports[1]}" in c]
        self.assertEqual(len(server), 1)
        begin = time.monotonic()
        os.kill(server[0], signal.SIGKILL)
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5, err)
        self.assertIn("was killed by signal 9 while the job was running", err)
        wait_until("everything to be gone", lambda: not self.left(), 10)
        self.assertLess(time.monotonic() - begin, WITHIN)


if __name__ == "__main__":
    unittest.main(verbosity=2)
