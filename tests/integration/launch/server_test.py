# SPDX-License-Identifier: Apache-2.0
"""Tests graphctl server, ps, top and stop on this machine."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from harness import DEADLINE, GRAPHCTL, SLOW, GraphctlTest, kill_all, read_line, wait_until

HERE = ("--server_name", "ring", "--ip_config", "ip.txt")


class Server(GraphctlTest):
    def test_start_status_stop(self):
        missing = self.graphctl("server", "status", *HERE)
        self.assertEqual(missing.returncode, 5)
        self.assertIn("server start", missing.stderr)
        start = self.graphctl("server", "start", *HERE, "--part_config", "ring.json")
        self.assertEqual((start.returncode, start.stdout.count("ready in")), (0, 2), start.stderr)
        again = self.graphctl("server", "start", *HERE, "--part_config", "ring.json")
        self.assertEqual((again.returncode, again.stdout.count("already running\n")), (0, 2))
        shutil.copy(self.path("ring.json"), self.path("other.json"))
        other = self.graphctl("server", "start", *HERE, "--part_config", "other.json")
        self.assertEqual((other.returncode, other.stdout.count(
            f"already running, with {self.path('ring.json')}; `graphctl server switch`")), (0, 2),
            other.stdout)
        self.assertNotIn("--durability", self.graphctl("server", "stop", "--help").stdout)
        status = json.loads(self.graphctl("server", "status", *HERE, "--json").stdout)
        self.assertEqual([e["status"]["partitions"][0]["part"] for e in status], [0, 1])
        self.assertEqual(sum(e["status"]["partitions"][0]["nodes"] for e in status), 60)
        wrong = self.graphctl("server", "stop", *HERE, "--timeout", "-1")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--timeout", wrong.stderr)
        stop = self.graphctl("server", "stop", *HERE, "--timeout", "30")
        self.assertEqual((stop.returncode, stop.stdout.count("stopped")), (0, 2), stop.stderr)
        self.assertEqual((self.daemons(), self.sockets()), ([], []))
        self.assertEqual(self.graphctl("server", "stop", *HERE).returncode, 5)

    def test_servers_on_loopback_use_no_tcp_unless_asked(self):
        for arguments, count in (((), 0), (("--insecure",), 1)):
            done = self.graphctl("server", "start", *HERE, "--part_config", "ring.json", *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([self.tcp_sockets(pid) for pid in self.daemons()], [count, count])
            shown = self.graphctl("server", "status", *HERE).stdout
            self.assertEqual(shown.count(f"{self.ports[0]}.sock"), 1, shown)
            self.assertEqual(shown.count(f"serves 127.0.0.1:{self.ports[0]} and "), count, shown)
            self.assertEqual(shown.count("INSECURE"), 2 * count, shown)
            self.stop_server()

    def tcp_sockets(self, pid):
        """Returns the number of a process's TCP sockets."""
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
        count = 0
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}") as lines:
                count += sum(line.split()[9] in inodes for line in list(lines)[1:])
        return count

    def test_status_fails_if_only_some_daemons_are_running(self):
        self.start_server()
        os.kill(self.daemons()[0], signal.SIGTERM)
        wait_until("it to end", lambda: len(self.daemons()) == 1)
        done = self.graphctl("server", "status", *HERE)
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout.count("ready"), 1)
        start = self.graphctl("server", "start", *HERE, "--part_config", "ring.json")
        self.assertEqual((start.stdout.count("ready in"), start.stdout.count("already")), (1, 1))
        self.stop_server()

    def test_a_socket_left_by_a_killed_server_is_replaced(self):
        self.start_server()
        for pid in self.daemons():
            os.kill(pid, signal.SIGKILL)
        wait_until("them to end", lambda: not self.daemons())
        self.assertEqual(len(self.sockets()), 2)
        self.assertEqual(self.graphctl("server", "status", *HERE).returncode, 5)
        self.assertIn("no server", self.graphctl("ps").stdout)
        self.start_server()
        self.stop_server()

    def test_a_server_that_is_not_ready_in_time_is_ended(self):
        self.write("slow", "#!/bin/sh\nexec sleep 3600\n")
        os.chmod(self.path("slow"), 0o755)
        # A program's relative path is relative to the directory in which graphctl runs.
        done = self.graphctl("server", "start", *HERE, "--part_config", "ring.json", "--graphd",
                             "./slow", "--start_timeout", "0.5")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(self.left(), [])

    def test_a_server_that_can_not_be_run_is_reported_with_the_reason(self):
        self.write("broken", "#!/no/such/interpreter\n")
        os.chmod(self.path("broken"), 0o755)
        done = self.graphctl("server", "start", *HERE, "--part_config", "ring.json", "--graphd",
                             "broken")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("No such file or directory", done.stderr)

    def test_the_path_of_graphctl_on_other_hosts_is_not_used_on_this_host(self):
        done = self.graphctl("server", "start", *HERE, "--part_config", "ring.json", "--graphctl",
                             "/elsewhere/graphctl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stop_server()

    def test_stop_refuses_while_a_job_is_attached_unless_forced(self):
        self.start_server()
        job = self.start_launch("--server_grace", "1", "echo up; exec sleep 3600", trainers=1)
        read_line(job.stdout)
        refused = self.graphctl("server", "stop", *HERE)
        self.assertEqual(refused.returncode, 4)
        self.assertIn("--force", refused.stderr)
        forced = self.graphctl("server", "stop", *HERE, "--force", "--timeout", "0")
        self.assertEqual((forced.returncode, forced.stdout.count("stopped")), (0, 2), forced.stderr)
        self.assertEqual(forced.stderr.count("it has ended while 1 job was attached"), 2, forced.stderr)
        # There was no tensor.
        self.assertNotIn("written back", forced.stderr)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5)

    def as_nobody(self, *words):
        return subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                 *words], env=self.environment)

    def test_a_directory_of_another_user_is_refused(self):
        os.chmod(self.workspace, 0o755)
        os.mkdir(self.runtime)
        os.chmod(self.runtime, 0o1777)  # as /tmp
        self.write("precious", "as it was")
        folder = os.path.join(self.runtime, "ring")
        self.assertEqual(self.as_nobody("mkdir", folder).wait(), 0)
        self.assertEqual(self.as_nobody("ln", "-s", self.path("precious"),
                                        f"{folder}/{self.ports[0]}.log").wait(), 0)
        start = ("server", "start", *HERE, "--part_config", "ring.json")
        done = self.graphctl(*start)
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn(f"{folder} belongs to user 65534", done.stderr)
        os.chown(folder, 0, 0)
        for mode, why in ((0o757, "ring can be written by other users"),
                          (0o755, f"{self.ports[0]}.log is a link")):
            os.chmod(folder, mode)
            done = self.graphctl(*start)
            self.assertEqual(done.returncode, 10, done.stderr)
            self.assertIn(why, done.stderr)
        self.assertEqual(self.read("precious"), "as it was")
        self.graphctl("server", "stop", *HERE)

    def test_a_user_who_reads_the_log_keeps_no_server_from_starting(self):
        os.chmod(self.workspace, 0o755)
        self.start_server()
        self.stop_server()
        log = os.path.join(self.runtime, "ring", f"{self.ports[0]}.log")
        reader = self.as_nobody("flock", "--shared", log, "sleep", "3600")
        self.started.append(reader)
        wait_until("the reader's lock", lambda: [
            1 for _, command in self.left() if command == "sleep 3600"])
        self.start_server()
        self.stop_server()
        reader.kill()
        kill_all(pid for pid, command in self.left() if command == "sleep 3600")

    def test_a_port_that_is_taken_is_an_error_that_names_it(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.ports[0]))
            taken.listen()
            done = self.graphctl("server", "start", *HERE, "--part_config", "ring.json",
                                 "--insecure")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(str(self.ports[0]), done.stderr)
        self.assertIn("choose another one: in the ip_config file", done.stderr)
        self.graphctl("server", "stop", *HERE)
        self.assertEqual(self.daemons(), [])

    def test_beyond_loopback_needs_insecure(self):
        address = subprocess.run(["hostname", "-I"], capture_output=True, text=True,
                                 check=True).stdout.split()
        if not address:
            self.fail("this test needs a machine with an address beyond loopback")
        self.write("out.txt", f"{address[0]} {self.ports[0]}\n{address[0]} {self.ports[1]}\n")
        done = self.graphctl("server", "start", "--server_name", "ring", "--ip_config", "out.txt",
                             "--part_config", "ring.json")
        self.assertEqual(done.returncode, 10, done.stderr)
        self.assertIn("--insecure", done.stderr)
        self.assertEqual(self.left(), [])


class Ps(GraphctlTest):
    def test_shows_servers_and_jobs_of_this_machine(self):
        self.assertIn("no server", self.graphctl("ps").stdout)
        job = self.start_launch("echo up; exec sleep 3600")
        for _ in range(4):
            read_line(job.stdout)
        found = json.loads(self.graphctl("ps", "--json").stdout)
        self.assertEqual(len(found), 2)
        for entry in found:
            status = entry["status"]
            self.assertEqual(status["server_name"], "ring")
            self.assertTrue(status["ends_with_jobs"])
            self.assertEqual(len(status["jobs"]), 1)
            self.assertEqual(status["jobs"][0]["world_size"], 4)
            self.assertEqual(status["jobs"][0]["command"], "echo up; exec sleep 3600")
        text = self.graphctl("ps").stdout
        self.assertIn("graph 'ring'", text)
        self.assertIn("echo up; exec sleep 3600", text)
        self.assertIn("no server", self.graphctl("ps", "--server_name", "other").stdout)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)

    def test_with_ip_config_a_missing_server_is_shown_with_exit_code_5(self):
        done = self.graphctl("ps", *HERE)
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout.count("no server 'ring'"), 2)
        self.start_server()
        done = self.graphctl("ps", "--server_name", "rnig", *HERE[2:])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout.count(f"in {self.runtime} there are sockets of 'ring')"), 2)
        done = self.graphctl("launch", "--server_name", "rnig", "--keep_alive", *HERE[2:], "true")
        self.assertIn("there are sockets of 'ring'", done.stderr)
        self.stop_server()


class Status(GraphctlTest):
    def status(self, *options):
        done = self.graphctl("status", "--json", *options)
        return done.returncode, json.loads(done.stdout)

    def test_tells_whether_all_daemons_are_ready(self):
        nothing = self.graphctl("status")
        self.assertEqual(nothing.returncode, 5)
        self.assertIn("no server runs in", nothing.stdout)
        self.start_server()
        job = self.start_launch("echo up; exec sleep 3600")
        for _ in range(4):
            read_line(job.stdout)
        for options in ((), HERE):
            code, machines = self.status(*options)
            self.assertEqual((code, len(machines)), (0, 2), machines)
            parts = []
            for machine in machines:
                self.assertEqual((machine["server_name"], machine["state"]), ("ring", "ready"))
                self.assertEqual((machine["ready"], machine["degraded"]), (True, []))
                self.assertEqual(machine["jobs"], 1)
                self.assertGreater(machine["memory"]["rss_bytes"], 1 << 20)
                self.assertGreater(machine["memory"]["graph_bytes"], 0)
                self.assertRegex(next(iter(machine["pages"])), "[KM]iB")
                parts += machine["partitions"]
            self.assertEqual(sorted(parts), [0, 1])
        text = self.graphctl("status", *HERE).stdout
        self.assertEqual(len(re.findall(r"127.0.0.1:\d+ +ring +ready  .*iB", text)), 2, text)
        self.assertEqual(len(re.findall(r"4 trainers, \d+ s: echo up; exec sleep 3600", text)), 1,
                         text)
        drain = self.graphctl("server", "drain", "--server_name", "ring", "--reason", "a test")
        self.assertEqual(drain.returncode, 0, drain.stderr)
        code, machines = self.status()
        self.assertEqual((code, [each["state"] for each in machines]), (5, ["drained"] * 2))
        self.assertEqual(machines[0]["drained"]["reason"], "a test")
        self.graphctl("server", "undrain", "--server_name", "ring")
        self.assertEqual(self.status()[0], 0)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        # A daemon that was killed leaves its socket behind, and so is known.
        os.kill(machines[1]["pid"], signal.SIGKILL)
        wait_until("the killed daemon", lambda: "error" in self.status()[1][1])
        code, machines = self.status()
        self.assertEqual((code, len(machines), machines[0]["state"]), (5, 2, "ready"))
        self.assertRegex(machines[1]["error"], r"server 'ring' does not run \(.*start it again")
        self.assertIn("server 'ring' does not run", self.graphctl("status").stdout)
        self.assertEqual(len(json.loads(self.graphctl("ps", "--json").stdout)), 1)
        self.start_server()
        self.assertEqual(self.status()[0], 0)
        self.stop_server()
        self.assertEqual(self.status(), (5, []))
        code, machines = self.status(*HERE)
        self.assertEqual(code, 5)
        self.assertIn("no server 'ring'", machines[1]["error"])

    def test_a_user_who_may_not_ask_a_daemon_is_told_so(self):
        self.start_server()
        os.chmod(self.workspace, 0o755)
        tool = shutil.copy(GRAPHCTL, self.path("graphctl"))  # the build may be in a private folder
        for options in (("--server_name", "ring"), HERE):
            done = subprocess.run([tool, "status", "--json", *options], cwd=self.workspace,
                                  env=self.environment, capture_output=True, text=True,
                                  timeout=DEADLINE * SLOW, user=65534, group=65534, extra_groups=[])
            machines = json.loads(done.stdout)
            self.assertEqual((done.returncode, len(machines)), (10, 2), done.stdout)
            for machine in machines:
                self.assertTrue(machine["denied"])
                self.assertRegex(machine["error"], "no permission for .*--allow_read")
        self.stop_server()


class Top(GraphctlTest):
    def test_shows_the_activity_of_an_interval(self):
        self.start_server()
        job = self.start_launch("echo up; exec sleep 3600")
        for _ in range(4):
            read_line(job.stdout)
        done = self.graphctl("top", "--once", "--json", "--interval", "0.2", *HERE)
        self.assertEqual(done.returncode, 0, done.stderr)
        machines = json.loads(done.stdout)
        self.assertEqual([m["host"] for m in machines],
                         [f"127.0.0.1:{port}" for port in self.ports])
        for machine in machines:
            self.assertEqual((machine["server_name"], machine["jobs"]), ("ring", 1))
            self.assertGreaterEqual(machine["seconds"], 0.2)
            self.assertEqual((machine["rows"], machine["edges"], machine["pushes"]), (0, 0, 0))
            self.assertGreater(machine["rss_bytes"], 1 << 20)
        text = self.graphctl("top", "--once", "--interval", "0.1").stdout  # servers of this machine
        self.assertEqual(text.count(" ring "), 2, text)
        self.assertEqual(len(re.findall(r"4 trainers, \d+ s: echo up; exec sleep 3600", text)), 1,
                         text)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.stop_server()

    def test_continues_until_a_signal_and_shows_stopped_servers(self):
        self.start_server()
        top = self.start("top", "--json", "--interval", "0.1", *HERE)
        first = json.loads(read_line(top.stdout))
        self.assertNotIn("rows", first[0])  # there was no earlier sample
        self.assertEqual(json.loads(read_line(top.stdout))[1]["rows"], 0)
        self.stop_server()
        wait_until("top to notice the end", lambda: "error" in json.loads(read_line(top.stdout))[0])
        top.send_signal(signal.SIGINT)
        _, errors = top.communicate(timeout=20 * SLOW)
        self.assertEqual((top.returncode, errors), (0, ""))
        self.assertEqual(self.graphctl("top", "--once", "--interval", "0.1", *HERE).returncode, 5)
        self.assertIn("no server", self.graphctl("top", "--once", "--interval", "0.1").stdout)

    def supervisors(self):
        return [pid for pid, command in self.left() if command.endswith(" supervise")]

    def test_a_signal_ends_it_also_while_a_machine_does_not_answer(self):
        self.start_server()
        for number in (signal.SIGINT, signal.SIGTERM):
            top = self.start("top", "--interval", "0.1", *HERE)
            # The supervisors that ask the daemons are stopped, so that this top waits for them.
            stopped = wait_until("a supervisor", self.supervisors)
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            top.send_signal(number)
            try:
                self.assertEqual(top.wait(timeout=20 * SLOW), 0)
            finally:
                for pid in stopped:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            wait_until("the supervisors to end", lambda: not self.supervisors())
        self.stop_server()

    def test_draws_in_place_on_a_terminal(self):
        self.start_server()
        parent, child = os.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 60, 0, 0))
        top = subprocess.Popen([GRAPHCTL, "top", "--interval", "0.1"], stdout=child,
                               env=self.environment, cwd=self.workspace)
        self.started.append(top)
        os.close(child)
        shown = ""
        while shown.count("\x1b[J") < 2:
            shown += os.read(parent, 65536).decode()
        top.send_signal(signal.SIGTERM)
        self.assertEqual(top.wait(timeout=20 * SLOW), 0)
        os.close(parent)
        screen = shown.split("\x1b[H")[1].split("\x1b[J")[0].split("\x1b[K\r\n")
        self.assertEqual(len(screen), 4)  # the last of the four rows is the cursor's
        self.assertIn("MACHINE", screen[1])
        self.assertLessEqual(max(map(len, screen)), 60)
        self.stop_server()

    def test_the_key_q_ends_it_and_the_terminal_is_as_before(self):
        self.start_server()
        terminal, child = os.openpty()
        before = termios.tcgetattr(child)
        top = subprocess.Popen([GRAPHCTL, "top", "--interval", "60"], env=self.environment,
                               cwd=self.workspace, preexec_fn=lambda: os.login_tty(child))
        self.started.append(top)
        shown = ""
        while shown.count("\x1b[J") < 1:
            shown += os.read(terminal, 65536).decode()
        self.assertIn("press q to end", shown)
        self.assertFalse(termios.tcgetattr(child)[3] & termios.ICANON)
        os.write(terminal, b"xq")
        self.assertEqual(top.wait(timeout=20 * SLOW), 0)
        self.assertEqual(termios.tcgetattr(child), before)
        os.close(child)
        os.close(terminal)
        self.stop_server()


class Stop(GraphctlTest):
    def jobs(self):
        found = json.loads(self.graphctl("ps", "--json").stdout)
        return sorted({job["job"] for entry in found for job in entry["status"]["jobs"]})

    def test_stops_one_job_of_two_and_then_all(self):
        self.start_server()
        stubborn = "trap '' TERM; echo up; while true; do sleep 3600; done"
        first, second, third = (self.start_launch(stubborn, trainers=1) for _ in range(3))
        for job in (first, second, third):
            read_line(job.stdout), read_line(job.stdout)
        names = self.jobs()
        self.assertEqual(len(names), 3)
        begin = time.monotonic()
        done = self.graphctl("stop", *HERE, "--job", names[0])
        print(f"    stopped a job in {time.monotonic() - begin:.3f} s")
        self.assertEqual((done.returncode, done.stdout), (0, f"stopped job {names[0]}\n"))
        self.assertEqual(self.jobs(), names[1:])
        wait_until("its graphctl to end",
                   lambda: [j.poll() for j in (first, second, third)].count(143) == 1)
        done = self.graphctl("stop", *HERE)
        self.assertEqual((done.returncode, done.stdout.count("stopped job")), (0, 2))
        for job in (first, second, third):
            job.communicate(timeout=20 * SLOW)
            self.assertEqual(job.returncode, 143)
        self.assertEqual(len(self.daemons()), 2)
        self.stop_server()

    def test_a_stopped_job_ends_the_server_that_it_started(self):
        job = self.start_launch("echo up; exec sleep 3600")
        read_line(job.stdout)
        stop = self.graphctl("stop", *HERE)
        self.assertEqual(stop.returncode, 0, stop.stderr)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 143)
        self.assertEqual(self.left(), [])

    def test_missing_jobs_and_servers_are_reported(self):
        absent = self.graphctl("stop", *HERE)
        self.assertEqual(absent.returncode, 5)
        elsewhere = self.graphctl("stop", "zz")
        self.assertEqual(elsewhere.returncode, 5)
        self.assertIn("this host does not know job zz, and no server 'default' runs", elsewhere.stderr)
        self.assertIn("give --ip_config", elsewhere.stderr)
        self.start_server()
        nothing = self.graphctl("stop", *HERE)
        self.assertEqual((nothing.returncode, nothing.stdout), (0, "server 'ring' has no job\n"))
        unknown = self.graphctl("stop", *HERE, "--job", "x")
        self.assertEqual(unknown.returncode, 3)
        self.stop_server()

    def test_checkpoint_finds_the_servers_of_a_runtime_directory(self):
        self.start_server()
        del self.environment["GRAPHD_RUNTIME_DIR"]
        line = ("--server_name", "ring", "--ip_config", "ip.txt")
        found = self.graphctl("checkpoint", "list", *line, "--runtime_dir", self.runtime)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(found.stdout, "no checkpoints\n")
        # The option overrides the environment.
        self.environment["GRAPHD_RUNTIME_DIR"] = self.path("empty")
        missing = self.graphctl("checkpoint", "list", *line, "--timeout", "1")
        self.assertEqual(missing.returncode, 5, missing.stderr)
        found = self.graphctl("checkpoint", "list", *line, "--runtime_dir", self.runtime)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.environment["GRAPHD_RUNTIME_DIR"] = self.runtime
        self.stop_server()


if __name__ == "__main__":
    unittest.main(verbosity=2)
