# SPDX-License-Identifier: Apache-2.0
"""Machines for the cluster tests. Each has its own network, mount, host name, IPC and PID namespace,
its own /root, /run, /tmp and /srv, and its own sshd; the operator's machine has the user's ~/.ssh.
A bridge connects them. Needs root. Killing a machine's first process ends the machine."""

import os
import shutil
import subprocess
import tempfile
import time

# Each machine keeps its jobs in a /var/lib/graphd of its own, where those who come by ssh look, too.
os.environ.pop("GRAPHD_JOBS_DIR", None)

OPERATOR = "10.99.0.100"
DESK = "10.99.0.101"

SSHD = """Port 22
ListenAddress {address}
HostKey {folder}/hostkey
AuthorizedKeysFile {root}/id.pub
PidFile none
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
MaxStartups 100
UseDNS no
"""

BOOT = """set -e
mount --make-rprivate /
cp /etc/passwd {folder}/passwd; cp /etc/shadow {folder}/shadow; chmod 600 {folder}/shadow
echo 'graph:x:2000:2000::{folder}/home:/bin/bash' >> {folder}/passwd
echo 'graph:*:19000::::::' >> {folder}/shadow
mount --bind {folder}/hosts /etc/hosts
mount --bind {folder}/passwd /etc/passwd; mount --bind {folder}/shadow /etc/shadow
hostname {name}
mount --bind {folder}/root /root; mount --bind {folder}/srv /srv
mount -t tmpfs none /run; mount -t tmpfs none /tmp
mkdir -p /var/lib/graphd; mount -t tmpfs none /var/lib/graphd
mkdir -p /run/sshd
exec {program}
"""


def run(*words, **options):
    options.setdefault("check", True)
    return subprocess.run(words, **options)


class Machine:
    def __init__(self, cluster, name, address, program):
        self.cluster, self.name, self.address = cluster, name, address
        self.netns = f"{cluster.prefix}{name}"
        self.folder = os.path.join(cluster.root, name)
        for each in ("root/.ssh", "srv", "home"):
            os.makedirs(os.path.join(self.folder, each))
        os.chmod(os.path.join(self.folder, "root"), 0o700)
        os.chown(os.path.join(self.folder, "home"), 2000, 2000)
        run("ip", "netns", "add", self.netns)
        run("ip", "-n", self.netns, "link", "set", "lo", "up")
        self.program = program
        self.process = None

    def boot(self):
        script = BOOT.format(folder=self.folder, name=self.name, program=self.program)
        # cwd="/": the working directory must not contain anything that the machine's mounts hide.
        self.log = open(os.path.join(self.folder, "log"), "w")  # noqa: SIM115
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL",  # a killed test takes its machines with it
             "ip", "netns", "exec", self.netns, "unshare", "--mount", "--uts", "--ipc", "--pid",
             "--fork", "--kill-child", "--mount-proc", "bash", "-c", script],
            cwd="/", stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)

    def init(self):
        """Returns the pid of the machine's first process in this PID namespace."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return int(file.read().split()[0])

    def enter(self, *words):
        """Returns a command that runs `words` on the machine."""
        return ["nsenter", "-t", str(self.init()), "-m", "-u", "-i", "-n", "-p", "--wd=/", *words]

    def processes(self):
        """Returns (pid in our namespace, command) of the machine's processes except its sshd."""
        try:
            mine = os.readlink(f"/proc/{self.init()}/ns/pid")
        except OSError:
            return []
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") != mine:
                    continue
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if command and not command.startswith("sshd: /usr/sbin/sshd"):
                found.append((int(entry), command))
        return [each for each in found if each[0] != self.init()]

    def work(self):
        """Returns processes() without sshd's sessions, which end shortly after their commands."""
        return [each for each in self.processes() if not each[1].startswith("sshd:")]

    def sockets(self):
        """Returns the daemons' sockets on the machine."""
        found = []
        for base in ("run/graphd", "tmp/graphd-2000"):
            for folder, _, files in os.walk(f"/proc/{self.init()}/root/{base}"):
                found += [os.path.join(folder, name) for name in files if name.endswith(".sock")]
        return found

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.log.close()


class Cluster:
    """A number of hosts, and the operator's machine. With `desk`, there is another machine with an
    sshd, which is not a host of jobs."""

    def __init__(self, hosts=3, desk=False):
        self.prefix = f"gd{os.getpid()}-"
        self.root = tempfile.mkdtemp(prefix="graphd-cluster-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.root + "/id")
        self.bridge_ns = self.prefix + "net"
        self.machines = []
        self.operator = self.desk = None
        try:
            self.build(hosts, desk)
        except BaseException:
            self.close()
            raise

    def build(self, hosts, desk):
        run("ip", "netns", "add", self.bridge_ns)
        run("ip", "-n", self.bridge_ns, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.bridge_ns, "link", "set", "br0", "up")
        for number in range(1, hosts + 1):
            self.machines.append(self.make_host(f"m{number}", f"10.99.0.{number}"))
        if desk:
            self.desk = self.make_host("desk", DESK)
        self.operator = Machine(self, "op", OPERATOR, "sleep infinity")
        for machine in self.everyone():
            self.plug(machine)
        for machine in self.everyone():
            self.write_hosts(machine)
            machine.boot()
        for machine in self.with_sshd():
            self.await_sshd(machine)

    def make_host(self, name, address):
        machine = Machine(self, name, address,
                          f"/usr/sbin/sshd -D -e -f {self.root}/{name}/sshd_config")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", machine.folder + "/hostkey")
        with open(machine.folder + "/sshd_config", "w") as out:
            out.write(SSHD.format(address=machine.address, folder=machine.folder, root=self.root))
        return machine

    def with_sshd(self):
        return self.machines + ([self.desk] if self.desk else [])

    def everyone(self):
        return self.with_sshd() + ([self.operator] if self.operator else [])

    def write_hosts(self, machine):
        """Writes /etc/hosts like Debian: a host's own name is a loopback address on that host."""
        with open(machine.folder + "/hosts", "w") as out:
            out.write("127.0.0.1 localhost\n")
            for each in self.machines:
                out.write(f"{'127.0.1.1' if each is machine else each.address} {each.name}\n")

    def plug(self, machine):
        run("ip", "link", "add", "name", "p-" + machine.name, "netns", self.bridge_ns, "type",
            "veth", "peer", "name", "eth0", "netns", machine.netns)
        run("ip", "-n", self.bridge_ns, "link", "set", "p-" + machine.name, "master", "br0", "up")
        run("ip", "-n", machine.netns, "addr", "add", machine.address + "/24", "dev", "eth0")
        run("ip", "-n", machine.netns, "link", "set", "eth0", "up")

    def cable(self, machine, up):
        """Disconnects the machine from the network, or connects it again."""
        run("ip", "-n", self.bridge_ns, "link", "set", "p-" + machine.name, "up" if up else "down")

    def await_sshd(self, machine):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with open(machine.folder + "/log") as file:
                text = file.read()
            if "Server listening" in text:
                return
            if machine.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"{machine.name} has not come up:\n{text}")

    def write_known_hosts(self, swap=()):
        """Writes all machines' keys; for machines in `swap`, another machine's key."""
        text = ""
        for machine in self.with_sshd():
            source = self.machines[0] if machine in swap else machine
            with open(source.folder + "/hostkey.pub") as file:
                text += machine.address + " " + " ".join(file.read().split()[:2]) + "\n"
        for each in self.everyone():
            with open(each.folder + "/root/.ssh/known_hosts", "w") as out:
                out.write(text)

    def write_ssh_config(self, identity=True):
        for each in self.everyone():
            with open(each.folder + "/root/.ssh/config", "w") as out:
                out.write(f"Host *\n  User root\n  IdentityFile {self.root}/id\n" if identity
                          else "Host *\n  User root\n")

    def close(self):
        for machine in self.everyone():
            machine.kill()
        for netns in [each.netns for each in self.everyone()] + [self.bridge_ns]:
            run("ip", "netns", "del", netns, check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.root)
        names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        assert self.prefix not in names, f"network namespaces remain: {names}"
