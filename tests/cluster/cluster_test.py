# SPDX-License-Identifier: Apache-2.0
"""Tests with three hosts that run sshd, and an operator's machine: launch, attach again, stop, and
all failures between them. After every test, no process may remain on any host."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from cluster_case import ClusterCase, give_partitions, start_cluster
from harness import BIN, DEADLINE, SLOW, read_line, wait_until

PORT = 30050
STUBBORN = ("trap '' TERM INT HUP; (setsid sleep 3600 &); sleep 3600 & "
            "echo up; while true; do sleep 3600; done")
# A higher limit: three hosts end stubborn trainers over ssh on two processors.
WITHIN = 1.2 * SLOW


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"))
    unittest.addModuleCleanup(cluster.close)
    shutil.copy(os.path.join(BIN, "..", "tests", "ring_trainer"), cluster.root + "/bin")
    give_partitions(cluster)
    os.mkdir(cluster.operator.folder + "/srv/ws")


class ClusterTest(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        self.write_ip_config([m.address for m in cluster.machines])

    def tearDown(self):
        super().tearDown()
        self.assertEqual([m.sockets() for m in cluster.machines], [[], [], []])

    def write_ip_config(self, lines, where=None):
        # Only the operator's machine has ip_config; trainers on other machines get it from their
        # supervisor.
        with open((where or cluster.operator).folder + "/srv/ws/ip.txt", "w") as out:
            out.write("".join(line + "\n" for line in lines))

    def line(self, verb, *arguments, where=None):
        return (where or cluster.operator).enter(
            cluster.root + "/bin/graphctl", *verb.split(), "--server_name", "ring", "--workspace",
            "/srv/ws", "--ip_config", "ip.txt", *arguments)

    def graphctl(self, verb, *arguments, where=None, env=None):
        return subprocess.run(self.line(verb, *arguments, where=where), capture_output=True,
                              text=True, timeout=DEADLINE * SLOW, env=env)

    def launch_arguments(self, *arguments, trainers=1):
        return ("--part_config", "ring.json", "--insecure", "--num_trainers", str(trainers),
                *arguments)

    def launch(self, *arguments, trainers=1, **options):
        return self.graphctl("launch", *self.launch_arguments(*arguments, trainers=trainers),
                             **options)

    def start_launch(self, *arguments, trainers=1, where=None):
        process = subprocess.Popen(
            self.line("launch", *self.launch_arguments(*arguments, trainers=trainers),
                      where=where),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def up(self, job, count=3):
        for _ in range(count):
            line = read_line(job.stdout)
            self.assertIn("up", line, line or job.stderr.read())

    def assert_gone(self, since, within=WITHIN):
        wait_until("every host to be empty", lambda: not self.left(), 30)
        took = time.monotonic() - since
        print(f"    nothing left on any host after {took:.3f} s")
        self.assertLess(took, within)


class Jobs(ClusterTest):
    def test_a_job_on_three_hosts_starts_its_servers_and_ends_with_them(self):
        begin = time.monotonic()
        done = self.launch('echo "$(hostname) $RANK $WORLD_SIZE $MASTER_ADDR $GRAPHD_PART_ID"',
                           trainers=2)
        print(f"    start of three servers and a job: {time.monotonic() - begin:.3f} s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[10.99.0.{1 + r // 2}:{r}] m{1 + r // 2} {r} 6 10.99.0.1 {r // 2}" for r in range(6)])
        self.assertEqual(self.left(), [])

    def test_a_second_job_attaches_to_the_running_servers(self):
        first = self.launch("--keep_alive", cluster.root + "/bin/ring_trainer", trainers=2)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout.count("checked 60 nodes, 1 of 3 partitions mapped"), 6)
        servers = self.left()
        self.assertEqual([c.split()[0] for _, c in servers], [cluster.root + "/bin/graphd"] * 3)
        status = self.graphctl("server status", "--json")
        self.assertEqual([e["status"]["partitions"][0]["part"]
                          for e in json.loads(status.stdout)], [0, 1, 2])
        begin = time.monotonic()
        second = self.launch("--", cluster.root + "/bin/ring_trainer", trainers=1)
        print(f"    a whole second job over ssh: {time.monotonic() - begin:.3f} s")
        for line in second.stderr.splitlines():
            print("      " + line)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(second.stderr.count("attached to server"), 3)
        self.assertEqual(second.stdout.count("rank "), 3)
        self.assertEqual(self.left(), servers)
        stopped = self.graphctl("server stop")
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertEqual(self.left(), [])

    def test_hosts_without_trainers_serve_their_partition(self):
        self.write_ip_config(["10.99.0.1 30050 0", "10.99.0.2 30050 2", "10.99.0.3 30050 0"])
        done = self.launch("--", cluster.root + "/bin/ring_trainer")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("checked 60 nodes"), 2)

    def test_a_launch_from_one_of_the_hosts_needs_no_ssh_to_it(self):
        first = cluster.machines[0]
        self.write_ip_config([m.address for m in cluster.machines], where=first)
        try:
            plan = json.loads(self.launch("--dry_run", "--json", "true", where=first).stdout)
            self.assertEqual([h["local"] for h in plan["hosts"]], [True, False, False])
            done = self.launch("hostname", where=first)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(done.stdout.splitlines()),
                             ["[10.99.0.1:0] m1", "[10.99.0.2:1] m2", "[10.99.0.3:2] m3"])
            wait_until("all to be gone", lambda: not self.left(), 5)
        finally:
            os.remove(first.folder + "/srv/ws/ip.txt")

    def test_an_old_ip_config_on_a_host_is_not_used(self):
        old = cluster.machines[1].folder + "/srv/ws/ip.txt"
        with open(old, "w") as out:
            out.write("10.99.0.9\n")
        try:
            done = self.launch('tr "\\n" " " < $GRAPHD_IP_CONFIG; echo')
        finally:
            os.remove(old)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split("] ")[1] for line in done.stdout.splitlines()],
                         ["10.99.0.1 10.99.0.2 10.99.0.3 "] * 3)

    def test_any_quoting_arrives_on_every_host(self):
        words = ["it's", '"x y"', "$HOME `id`", "", "a\nb", "\\", "*", "ü"]
        show = "import json, sys; print(json.dumps(sys.argv[1:]))"
        done = self.launch("--", "python3", "-c", show, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stdout.splitlines():
            self.assertEqual(json.loads(line.split("] ", 1)[1]), words)
        text = self.launch("""printf '%s|' "it's" 'a "b"' $((2+3)) `echo hi`""")
        self.assertEqual({line.split("] ", 1)[1] for line in text.stdout.splitlines()},
                         {"it's|a \"b\"|5|hi|"})

    def test_a_normal_user_can_launch_jobs(self):
        done = self.launch("--ssh_username", "graph", "whoami")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], ["graph"] * 3)

    def test_much_output_of_all_hosts_arrives_completely(self):
        done = self.launch("seq 1 20000")
        self.assertEqual(done.returncode, 0, done.stderr)
        for number in range(3):
            mine = [line.split("] ")[1] for line in done.stdout.splitlines()
                    if line.startswith(f"[10.99.0.{number + 1}:")]
            self.assertEqual(mine, [str(i) for i in range(1, 20001)])

    def test_a_reader_that_pauses_for_long_loses_no_host(self):
        job = self.start_launch("--host_timeout", str(4 * SLOW), "seq 1 500000")
        self.assertIn("] 1\n", read_line(job.stdout))
        time.sleep(10 * SLOW)  # longer than the hosts wait for a ping
        out, err = job.communicate(timeout=DEADLINE * SLOW)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(out.count("\n"), 3 * 500000 - 1)


class Ends(ClusterTest):
    def test_stop_from_another_machine(self):
        job = self.start_launch("--keep_alive", STUBBORN)
        self.up(job)
        shown = self.graphctl("ps")
        self.assertEqual(shown.stdout.count("server 'ring'"), 3, shown.stdout)
        begin = time.monotonic()
        done = self.graphctl("stop")
        print(f"    stopped in {time.monotonic() - begin:.3f} s")
        self.assertEqual((done.returncode, done.stdout.count("stopped job")), (0, 1), done.stderr)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 143)
        self.assertEqual(len(self.left()), 3, "the servers should still run")
        self.assertEqual(self.graphctl("server stop").returncode, 0)

    def test_a_killed_trainer_ends_the_job_everywhere(self):
        job = self.start_launch("if [ $RANK = 1 ]; then echo up; exec sleep 1111; fi; " + STUBBORN)
        self.up(job)
        pid = wait_until("the shell to become sleep", lambda: [
            p for p, c in cluster.machines[1].processes() if c == "sleep 1111"])[0]
        begin = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 137)
        self.assertIn("trainer 1 on 10.99.0.2 was killed by signal 9", err)
        self.assert_gone(begin)

    def test_a_killed_graphctl_leaves_no_process(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        begin = time.monotonic()
        os.kill(self.graphctl_pid(job), signal.SIGKILL)
        self.assert_gone(begin)

    def test_interrupt_ends_the_job_everywhere(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        begin = time.monotonic()
        os.kill(self.graphctl_pid(job), signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 130)
        self.assert_gone(begin)

    def test_a_killed_supervisor_ends_the_job_everywhere(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        pid = [p for p, c in cluster.machines[2].processes() if "supervise" in c][-1]
        begin = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5)
        self.assert_gone(begin)

    def test_a_killed_ssh_session_ends_the_job_everywhere(self):
        job = self.start_launch(STUBBORN)
        self.up(job)
        begin = time.monotonic()
        for pid, command in cluster.machines[1].processes():
            if command.startswith("sshd: root"):
                os.kill(pid, signal.SIGKILL)
        _, err = job.communicate(timeout=20 * SLOW)
        self.assertEqual(job.returncode, 5, err)
        self.assertIn("10.99.0.2", err)
        self.assert_gone(begin)

    def test_a_network_failure_ends_the_job_on_both_sides(self):
        job = self.start_launch("--host_timeout", "3", STUBBORN)
        self.up(job)
        begin = time.monotonic()
        cluster.cable(cluster.machines[2], False)
        try:
            _, err = job.communicate(timeout=40)
            print(f"    graphctl gave the host up after {time.monotonic() - begin:.3f} s")
            self.assertEqual(job.returncode, 5, err)
            self.assertIn("10.99.0.3", err)
            wait_until("the trainers of the lost host to end",
                       lambda: not cluster.machines[2].work(), 20)
            print(f"    the host ended its part after {time.monotonic() - begin:.3f} s")
        finally:
            cluster.cable(cluster.machines[2], True)
        self.kill_old_sessions(cluster.machines[2])
        wait_until("every host to be empty", lambda: not self.left(), 20)

    def kill_old_sessions(self, machine):
        """Waits for sshd, which notices the failure only through its administrator's keep-alive."""
        for pid, command in machine.processes():
            if command.startswith("sshd:"):
                os.kill(pid, signal.SIGKILL)


class Refusals(ClusterTest):
    def assert_refused(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        wait_until("every host to be empty", lambda: not self.left(), 10)

    def test_an_unreachable_host(self):
        self.write_ip_config(["10.99.0.1", "10.99.0.2", "10.99.0.77"])
        begin = time.monotonic()
        done = self.launch("--connect_timeout", "2", "true")
        print(f"    refused after {time.monotonic() - begin:.3f} s")
        self.assert_refused(done, 5, "10.99.0.77", "can't reach the host over ssh")
        self.assertLess(time.monotonic() - begin, 6 * SLOW)

    def test_a_host_where_no_sshd_listens(self):
        done = self.launch("--ssh_port", "2222", "true")
        self.assert_refused(done, 5, "can't reach the host over ssh", "--ssh_port")

    def test_an_interrupt_while_a_host_does_not_answer(self):
        self.write_ip_config(["10.99.0.1", "10.99.0.2", "10.99.0.77"])
        job = self.start_launch("--connect_timeout", "60", "true")
        wait_until("the others to be ready", lambda: "server 'ring' in" in read_line(job.stderr))
        begin = time.monotonic()
        os.kill(self.graphctl_pid(job), signal.SIGINT)
        job.communicate(timeout=20 * SLOW)
        self.assertIn(job.returncode, (130, 5))
        self.assert_gone(begin, 4 * SLOW)

    def test_a_changed_host_key(self):
        cluster.write_known_hosts(swap=[cluster.machines[1]])
        for extra in ((), ("--ssh_accept_new",)):
            done = self.launch(*extra, "true")
            self.assert_refused(done, 10, "10.99.0.2", "HOST KEY CHANGED", "ssh-keygen -R")

    def test_an_unknown_host_unless_it_may_be_added(self):
        known_hosts = cluster.operator.folder + "/root/.ssh/known_hosts"
        os.remove(known_hosts)
        done = self.launch("true")
        self.assert_refused(done, 10, "known_hosts", "--ssh_accept_new", "SHA256:")
        done = self.launch("--ssh_accept_new", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(known_hosts) as file:
            self.assertEqual(len(file.read().splitlines()), 3)
        self.assertEqual(self.launch("true").returncode, 0)

    def test_a_user_without_key_and_the_same_with_an_agent(self):
        cluster.write_ssh_config(identity=False)
        self.assert_refused(self.launch("true"), 10, "ssh-agent", "authorized_keys")
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", cluster.root + "/agent"],
                                 stdout=subprocess.DEVNULL)
        try:
            wait_until("the agent", lambda: os.path.exists(cluster.root + "/agent"))
            env = dict(os.environ, SSH_AUTH_SOCK=cluster.root + "/agent")
            subprocess.run(["ssh-add", "-q", cluster.root + "/id"], env=env, check=True)
            done = self.launch("true", env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            agent.kill()
            agent.wait()

    def test_a_host_without_graphctl(self):
        done = self.launch("--graphctl", "/no/such/graphctl", "--graphd",
                           cluster.root + "/bin/graphd", "true")
        self.assert_refused(done, 3, "/no/such/graphctl", "--graphctl")

    def test_a_host_without_its_partition(self):
        self.write_ip_config(["10.99.0.2", "10.99.0.1", "10.99.0.3"])
        self.assert_refused(self.launch("true"), 3, "could not be started")

    def test_a_name_that_is_loopback_on_its_own_host(self):
        self.write_ip_config(["m1", "m2", "m3"])
        done = self.launch("--ssh_accept_new", "true")
        self.assert_refused(done, 2, "/etc/hosts", "IP address")

    def test_listening_beyond_loopback_without_insecure(self):
        done = self.graphctl("launch", "--part_config", "ring.json", "true")
        self.assert_refused(done, 10, "--insecure")


if __name__ == "__main__":
    unittest.main(verbosity=2)
