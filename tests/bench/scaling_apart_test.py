#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that measurements run with a priority and a session of their own, and leave no trace."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bench_tools import BENCH
from scaling_model import apart

NICE = 5  # needs no rights
INTERRUPTED = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from scaling_model import apart, command
signal.signal(signal.SIGINT, command.interrupted)
signal.signal(signal.SIGTERM, command.interrupted)
def work():
    try:
        print(os.getpid(), flush=True)
        time.sleep(60)
    finally:
        print("cleaned", flush=True)
    return 0
sys.exit(apart.run(5, work))
"""


def state():
    """Returns the session, process group, priority and autogroup of this process."""
    try:
        with open("/proc/self/autogroup", encoding="utf-8") as file:
            group = file.read()
    except FileNotFoundError:
        group = ""
    return os.getsid(0), os.getpgid(0), os.getpriority(os.PRIO_PROCESS, 0), group


class Apart(unittest.TestCase):
    def test_the_caller_keeps_its_session_and_priority(self):
        before = state()
        handlers = [signal.getsignal(number) for number in apart.FORWARDED]
        with tempfile.NamedTemporaryFile("r+") as file:

            def work():
                file.write(repr((os.getpid(), *state()[:3])))
                file.flush()
                return 7

            self.assertEqual(apart.run(NICE, work), 7)
            file.seek(0)
            pid, session, group, priority = eval(file.read())
        self.assertEqual((session, group), (pid, pid))
        # Without rights, a process that is nicer already stays so.
        self.assertIn(priority, (NICE, max(NICE, before[2])))
        self.assertEqual(state(), before)
        self.assertEqual([signal.getsignal(number) for number in apart.FORWARDED], handlers)
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, ()), set())

    def test_errors_are_exit_codes(self):
        def failed():
            raise ValueError("planted")

        self.assertEqual(apart.run(NICE, lambda: sys.exit(3)), 3)
        self.assertEqual(apart.run(NICE, lambda: os.kill(os.getpid(), signal.SIGKILL)), 137)
        with tempfile.TemporaryFile("w+") as errors:
            kept = os.dup(2)
            os.dup2(errors.fileno(), 2)
            try:
                self.assertEqual(apart.run(NICE, failed), 1)
                self.assertEqual(apart.run(NICE, lambda: sys.exit("it said why")), 1)
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            errors.seek(0)
            said = errors.read()
        self.assertIn("ValueError: planted", said)
        self.assertIn("it said why", said)

    def ended(self, number):
        """Sends a signal to the caller; returns what was printed and the exit code."""
        with subprocess.Popen([sys.executable, "-c", INTERRUPTED, BENCH], text=True,
                              stdout=subprocess.PIPE) as caller:
            self.assertNotEqual(int(caller.stdout.readline()), caller.pid)
            caller.send_signal(number)
            said = caller.stdout.read()  # ends when the child has ended, too
            return said, caller.wait(30)

    def test_signals_reach_the_measurement(self):
        begun = time.monotonic()
        self.assertEqual(self.ended(signal.SIGINT), ("cleaned\n", 130))
        self.assertEqual(self.ended(signal.SIGTERM), ("cleaned\n", 143))
        self.assertLess(time.monotonic() - begun, 50)

    def test_the_measurement_ends_with_its_caller(self):
        said, code = self.ended(signal.SIGKILL)
        self.assertEqual((said, code), ("cleaned\n", -9))


if __name__ == "__main__":
    unittest.main()
