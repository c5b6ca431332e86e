# SPDX-License-Identifier: Apache-2.0
"""Tests of `graphctl doctor` on three hosts: it finds each fault that is planted, and nothing on
healthy hosts."""

import contextlib
import json
import os
import shutil
import subprocess
import unittest

from cluster_case import ClusterCase, give_partitions, start_cluster
from harness import DEADLINE, SLOW, wait_until

GRAPHD_PORT = 30050


def setUpModule():
    global cluster
    cluster = start_cluster(("graphctl", "graphd"))
    unittest.addModuleCleanup(cluster.close)
    shutil.copytree(cluster.root + "/bin", cluster.root + "/real")
    give_partitions(cluster)
    for machine in cluster.machines:
        os.mkdir(machine.folder + "/srv/state")
        # The findings must not depend on the machine that runs the test.
        for size, folder in (("1g", "/dev/shm"), ("2g", "/srv/state")):
            subprocess.run(machine.enter("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder),
                           check=True)
    os.mkdir(cluster.operator.folder + "/srv/ws")


class DoctorTest(ClusterCase):
    def setUp(self):
        self.cluster = cluster
        super().setUp()
        self.first, self.second, self.third = cluster.machines
        self.write_ip_config([machine.address for machine in cluster.machines])

    def write_ip_config(self, lines):
        with open(cluster.operator.folder + "/srv/ws/ip.txt", "w") as out:
            out.write("".join(line + "\n" for line in lines))

    def doctor(self, *arguments, guard=("--insecure",)):
        return subprocess.run(
            cluster.operator.enter(
                cluster.root + "/bin/graphctl", "doctor", "--server_name", "ring", "--workspace",
                "/srv/ws", "--ip_config", "ip.txt", "--part_config", "ring.json", "--state_dir",
                "/srv/state", *guard, *arguments),
            capture_output=True, text=True, timeout=DEADLINE * SLOW)

    def findings(self, *arguments, **options):
        """Returns [(number of the host, severity, text, remedy)]."""
        done = self.doctor("--json", *arguments, **options)
        self.assertEqual(done.stderr, "")
        found = [(number, each["severity"], each["text"], each["remedy"])
                 for number, host in enumerate(json.loads(done.stdout)["hosts"], 1)
                 for each in host["findings"]]
        self.assertEqual(done.returncode, int(any(each[1] == "fault" for each in found)))
        return found

    def expect(self, number, text, *arguments, severity="fault", **options):
        """Expects one finding, whose text matches the pattern."""
        found = self.findings(*arguments, **options)
        self.assertEqual([each[:2] for each in found], [(number, severity)], found)
        self.assertRegex(found[0][2], text)
        return found[0][3]

    @contextlib.contextmanager
    def replaced(self, machine, script):
        """Replaces graphctl on one machine by a script, in which REAL is the program."""
        path = f"{cluster.root}/{machine.name}-graphctl"
        with open(path, "w") as out:
            out.write("#!/bin/bash\n" + script.replace("REAL", cluster.root + "/real/graphctl"))
        os.chmod(path, 0o755)
        program = cluster.root + "/bin/graphctl"
        subprocess.run(machine.enter("mount", "--bind", path, program), check=True)
        try:
            yield
        finally:
            subprocess.run(machine.enter("umount", program), check=True)

    @contextlib.contextmanager
    def moved(self, path):
        os.rename(path, path + ".away")
        try:
            yield
        finally:
            os.rename(path + ".away", path)

    def test_healthy_hosts_have_no_findings(self):
        done = self.doctor()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for number, machine in enumerate(cluster.machines):
            self.assertRegex(done.stdout, rf"{machine.address}:{GRAPHD_PORT}: kernel \S+, \d+ cores, "
                             rf".* memory available, .* of disk; partition {number}, \d")
        self.assertTrue(done.stdout.endswith("0 faults, 0 warnings\n"), done.stdout)

    def test_a_server_that_runs_is_no_fault(self):
        server = [cluster.root + "/bin/graphctl", "server", "ACTION", "--server_name", "ring",
                  "--workspace", "/srv/ws", "--ip_config", "ip.txt"]
        start = [*server, "--part_config", "ring.json", "--state_dir", "/srv/state", "--insecure"]
        subprocess.run(cluster.operator.enter(*[w.replace("ACTION", "start") for w in start]),
                       check=True, capture_output=True, timeout=DEADLINE * SLOW)
        try:
            done = self.doctor()
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(done.stdout.count("the server runs"), 3)
        finally:
            subprocess.run(cluster.operator.enter(*[w.replace("ACTION", "stop") for w in server]),
                           check=True, capture_output=True, timeout=DEADLINE * SLOW)

    def test_a_host_that_ssh_does_not_reach(self):
        cluster.cable(self.second, False)
        try:
            found = self.findings("--connect_timeout", "2")
        finally:
            cluster.cable(self.second, True)
        self.assertIn((2, "fault"), [each[:2] for each in found])
        # A host without an answer is described by an error, whose text has the remedy.
        text, remedy = next(each[2:] for each in found if each[0] == 2)
        self.assertRegex(text, "can't reach the host over ssh within 2 s; check its address in "
                         "ip_config, its network and its sshd")
        self.assertEqual(remedy, "")
        # The others can't reach its server either.
        others = [each for each in found if "it can't reach 10.99.0.2" in each[2]]
        self.assertEqual([each[0] for each in others], [1, 3])
        for each in others:
            self.assertIn("firewalls and routes", each[3])

    def test_a_host_whose_key_is_unknown_or_another(self):
        cluster.write_known_hosts(swap=[self.third])
        # The text of the error has the remedy here, too.
        self.assertEqual(self.expect(3, r"HOST KEY CHANGED: .* ssh-keygen -R 10\.99\.0\.3"), "")
        known = cluster.operator.folder + "/root/.ssh/known_hosts"
        cluster.write_known_hosts()
        with open(known) as file:
            others = [line for line in file if not line.startswith(self.third.address + " ")]
        with open(known, "w") as out:
            out.writelines(others)
        self.assertEqual(
            self.expect(3, "it is not in .*known_hosts; .*log in once with ssh to add it"), "")

    def test_another_version_of_graphctl(self):
        with open(cluster.root + "/real/graphctl", "rb") as file:
            program = file.read()
        version = subprocess.run([cluster.root + "/real/graphctl", "--version"],
                                 capture_output=True, text=True, check=True).stdout.split()[1]
        with open(cluster.root + "/real/old", "wb") as out:
            out.write(program.replace(version.encode(), b"9" + version.encode()[1:]))
        os.chmod(cluster.root + "/real/old", 0o755)
        with self.replaced(self.first, f"exec {cluster.root}/real/old \"$@\"\n"):
            self.expect(1, r"has graphctl 9.* install the same version on both")

    def test_a_clock_that_is_ahead(self):
        with self.replaced(self.second, "exec faketime -f +300s REAL \"$@\"\n"):
            self.assertIn("timedatectl", self.expect(2, r"its clock is (299|30\d)\.\d s ahead"))
        with self.replaced(self.second, "exec faketime -f -5s REAL \"$@\"\n"):
            self.assertIn("timedatectl", self.expect(2, r"its clock is [45]\.\d s behind",
                                                     severity="warning"))

    def test_few_descriptors(self):
        with self.replaced(self.first, "ulimit -n 512\nexec REAL \"$@\"\n"):
            self.assertIn("LimitNOFILE", self.expect(1, "a process may have 512 descriptors"))

    def test_a_kernel_that_denies_shared_memory_huge_pages(self):
        # The host's view of the kernel's setting: the setting itself is that of the whole machine.
        setting = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
        planted = f"{cluster.root}/shmem_enabled"
        with open(planted, "w") as out:
            out.write("always within_size advise never [deny] force\n")
        subprocess.run(self.third.enter("mount", "--bind", planted, setting), check=True)
        try:
            remedy = self.expect(3, "gives shared memory no huge pages, as shmem_enabled is 'deny'",
                                 severity="warning")
            self.assertEqual(remedy, f"echo advise > {setting}")
        finally:
            subprocess.run(self.third.enter("umount", setting), check=True)

    def test_no_graphd_beside_graphctl(self):
        os.mkdir(cluster.root + "/alone")
        shutil.copy(cluster.root + "/real/graphctl", cluster.root + "/alone")
        with self.replaced(self.third, f"exec {cluster.root}/alone/graphctl \"$@\"\n"):
            self.assertIn("--graphd", self.expect(3, "can't run .*/alone/graphd"))

    def test_a_port_that_another_program_uses(self):
        listen = ("import socket, time; s = socket.create_server(('10.99.0.2', 30050)); "
                  "open('/tmp/listens', 'w'); time.sleep(60)")
        program = subprocess.Popen(self.second.enter("python3", "-c", listen))
        try:
            wait_until("the program to listen",
                       lambda: os.path.exists(f"/proc/{self.second.init()}/root/tmp/listens"), 10)
            self.assertIn("give another address or port, or end what is in the way", self.expect(
                2, r"port 30050 is in use by another program \(python3, pid \d+\)"))
        finally:
            for pid, command in self.second.work():
                if "create_server" in command:
                    os.kill(pid, 9)
            program.wait()

    def test_an_address_of_no_host(self):
        # The name is one of the first host for ssh, and one of nobody on the host itself.
        with open(self.first.folder + "/hosts") as file:
            good = file.read()
        with open(cluster.operator.folder + "/hosts", "a") as out:
            out.write("10.99.0.1 trainer-a\n")
        for machine in (self.second, self.third):
            with open(machine.folder + "/hosts", "a") as out:
                out.write("10.99.0.1 trainer-a\n")
        with open(self.first.folder + "/hosts", "a") as out:
            out.write("10.99.0.77 trainer-a\n")
        known = cluster.operator.folder + "/root/.ssh/known_hosts"
        with open(known) as file:
            keys = file.read()
        with open(known, "a") as out:
            out.write(keys.split("\n")[0].replace("10.99.0.1 ", "trainer-a ") + "\n")
        self.write_ip_config(["trainer-a", "10.99.0.2", "10.99.0.3"])
        try:
            self.assertIn("give another address or port", self.expect(
                1, "trainer-a:30050: it is not an address of this host"))
        finally:
            with open(self.first.folder + "/hosts", "w") as out:
                out.write(good)

    def test_a_disk_that_is_nearly_full(self):
        state = "/srv/state"
        subprocess.run(self.third.enter("mount", "-t", "tmpfs", "-o", "size=1m", "none", state),
                       check=True)
        try:
            self.assertIn("--state_dir", self.expect(3, "--state_dir /srv/state has 1.0 MiB free"))
        finally:
            subprocess.run(self.third.enter("umount", state), check=True)

    def test_files_of_the_graph(self):
        workspace = self.second.folder + "/srv/ws"
        with self.moved(workspace + "/ring.json"):
            self.assertIn("graphctl copy", self.expect(2, "/srv/ws/ring.json"))
        with self.moved(workspace + "/part1/graph.seg"):
            self.assertIn("graphctl copy", self.expect(2, "graph.seg"))
        # A host with another graph, which has the same name.
        with open(workspace + "/ring.json") as file:
            config = file.read()
        changed = json.loads(config)
        changed["part_method"] = "another"
        with open(workspace + "/ring.json", "w") as out:
            json.dump(changed, out)
        try:
            self.assertIn("graphctl copy", self.expect(
                2, r"describes another graph, 'ring', than that of 10.99.0.\d"))
        finally:
            with open(workspace + "/ring.json", "w") as out:
                out.write(config)

    def test_a_graph_that_needs_more_memory_than_there_is(self):
        workspace = self.first.folder + "/srv/ws"
        shutil.copytree(workspace + "/part0", workspace + "/small")
        header = workspace + "/part0/partition.json"
        with open(header) as file:
            content = json.load(file)
        # Features that the file system does not store: zeros.
        rows = 1 << 40
        segment = next(s for s in content["segments"] if s["file"] == "node_feat.seg")
        segment["arrays"] = [{"name": "node/0/huge", "dtype": "uint8", "shape": [rows],
                              "offset": 0, "bytes": rows, "xxh3": "0" * 16}]
        segment["total_bytes"] = rows
        with open(header, "w") as out:
            json.dump(content, out)
        os.truncate(workspace + "/part0/node_feat.seg", rows)
        try:
            self.assertIn("--store_as", self.expect(1, r"its partitions need 1\.0 TiB of memory"))
        finally:
            shutil.rmtree(workspace + "/part0")
            os.rename(workspace + "/small", workspace + "/part0")

    def test_hosts_that_do_not_reach_each_other(self):
        route = ["ip", "-n", self.first.netns, "route"]
        subprocess.run([*route, "add", "unreachable", "10.99.0.3/32"], check=True)
        try:
            found = self.findings()
            self.assertEqual([each[:3] for each in found], [
                (1, "fault", "it can't reach 10.99.0.3:30050: No route to host"),
                # The third host's packets arrive, and the answers do not.
                (3, "fault", "it can't reach 10.99.0.1:30050: no answer within 3 seconds")])
            self.assertIn("firewalls", found[0][3])
        finally:
            subprocess.run([*route, "del", "unreachable", "10.99.0.3/32"], check=True)

    def test_servers_that_nothing_protects(self):
        for guard, text, remedy in (
                ((), "nothing says who may connect", r"--secret \(graphctl keys create\)"),
                (("--keys", "/srv/keys"), "/srv/keys/.*pem", r"graphctl-keys\(1\)"),
                (("--secret", "/srv/no_secret"), "/srv/no_secret", r"graphctl-keys\(1\)")):
            with self.subTest(guard):
                found = self.findings(guard=guard)
                self.assertEqual([each[:2] for each in found],
                                 [(number, "fault") for number in (1, 2, 3)])
                for each in found:
                    self.assertRegex(each[2], text)
                    self.assertRegex(each[3], remedy)


if __name__ == "__main__":
    unittest.main()
