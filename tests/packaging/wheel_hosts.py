# SPDX-License-Identifier: Apache-2.0
"""Runs a job of an installed wheel on two hosts, for wheel_test.sh. The first serves the partitions of
a graph. The second only computes: whoever comes by ssh sees a Debian that has Python and the wheel,
and neither another program of graphd's nor a file of the graph.

usage: wheel_hosts.py ENVIRONMENT DEBIAN PARTS

ENVIRONMENT is a virtual environment with the wheel, DEBIAN a folder with such a Debian, which has
another one in /srv/env, and PARTS the folder with the partitions of the graph ring. Needs root.
"""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cluster"))
import machines

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = ("--server_name", "ring", "--workspace", "/srv", "--insecure", "--num_trainers", "1",
           "--part_config", "parts/ring.json", "--ip_config", "ip_config.txt",
           "--trainer_hosts", "trainer_hosts.txt", "--extra_envs",
           "PATH=/srv/env/bin:/usr/bin:/bin")


class Hosts(machines.Cluster):
    def make_host(self, name, address):
        machine = super().make_host(name, address)
        if name == "m2":
            with open(machine.folder + "/sshd_config", "a") as out:
                out.write("ChrootDirectory /srv\n")
        return machine


def mount(machine, *words):
    subprocess.run(machine.enter("mount", *words), check=True)


def prepare(hosts, environment, debian, parts):
    server, trainer = hosts.machines
    folder = server.folder + "/srv"
    shutil.move(parts, folder + "/parts")
    shutil.copy(os.path.join(HERE, "wheel_trainer.py"), folder)
    os.mkdir(folder + "/env")
    for name, text in (("ip_config.txt", "10.99.0.1 30050\n10.99.0.1 30051\n"),
                       ("trainer_hosts.txt", "10.99.0.2\n")):
        with open(f"{folder}/{name}", "w") as out:
            out.write(text)
    for machine in (server, trainer):
        # The machines have a /tmp of their own, which hides that of wheel_test.sh.
        subprocess.run(machine.enter("umount", "/tmp"), check=True)
    mount(server, "--bind", environment, "/srv/env")
    mount(trainer, "--bind", debian, "/srv")
    mount(trainer, "-t", "proc", "proc", "/srv/proc")
    mount(trainer, "-t", "tmpfs", "shm", "/srv/dev/shm")
    hosts.write_known_hosts()
    hosts.write_ssh_config()


def look_around(hosts):
    """Checks what the second host has."""
    found = subprocess.run(
        hosts.machines[0].enter("ssh", "10.99.0.2", "ls /srv; command -v graphd graphctl; "
                                "find / -xdev -name ring.json -o -name 'part[01]' -o -name cc"),
        capture_output=True, text=True)
    if found.stdout.split() != ["env", "wheel_trainer.py"]:
        sys.exit(f"the second host has more than the wheel:\n{found.stdout}{found.stderr}")


def main():
    environment, debian, parts = sys.argv[1:]
    hosts = Hosts(2)
    try:
        prepare(hosts, environment, debian, parts)
        look_around(hosts)
        done = subprocess.run(
            hosts.machines[0].enter("/srv/env/bin/graphctl", "launch", *OPTIONS, "--",
                                    "python3", "wheel_trainer.py"),
            capture_output=True, text=True, timeout=120)
        print(done.stdout + done.stderr, end="")
        lines = sorted(done.stdout.splitlines())
        visits = [f"[{host}] visits {nodes} nodes as {role}" for host, nodes, role in (
            ("10.99.0.1:30050:0", 334, "host"), ("10.99.0.1:30051:1", 333, "host"),
            ("10.99.0.2:2", 333, "trainer"))]
        if done.returncode != 0 or lines != visits:
            sys.exit(f"graphctl exited with {done.returncode}; expected {visits}")
        end = time.monotonic() + 20
        while left := [each for machine in hosts.machines for each in machine.work()]:
            if time.monotonic() > end:
                sys.exit(f"processes remain: {left}")
            time.sleep(0.05)
    finally:
        hosts.close()


if __name__ == "__main__":
    main()
