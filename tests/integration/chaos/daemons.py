# SPDX-License-Identifier: Apache-2.0
"""A graphd process that tests watch, and what it takes from its machine."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import time

from harness import BIN, GRAPHCTL, SLOW, free_ports, partition


def memory_of(pid):
    """Returns the resident memory of a process in MiB, without memory that it shares."""
    with open(f"/proc/{pid}/status") as file:
        sizes = {line.split(":")[0]: line.split()[1] for line in file if line.startswith("Rss")}
    return int(sizes["RssAnon"]) / 1024


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def kinds_of_descriptors(pid):
    """Returns how many descriptors of each kind a process has: sockets, files by folder, ..."""
    kinds = collections.Counter()
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(f"/proc/{pid}/fd/{number}")
            kinds[os.path.dirname(target) if target.startswith("/") else target.split(":[")[0]] += 1
    return dict(kinds)


def tail(path, lines=30):
    with contextlib.suppress(FileNotFoundError), open(path, errors="replace") as file:
        return "".join(file.readlines()[-lines:])
    return ""


class Daemon:
    """A daemon that may be killed and started again. `enter` makes a command run elsewhere, for
    example in another machine's namespaces, as a child of the process that it starts."""

    def __init__(self, command, log, enter=None, environment=None):
        self.command, self.log, self.enter = [*command, "--log_file", log], log, enter
        if environment:  # only the daemon gets it, and not `enter`
            settings = [f"{name}={value}" for name, value in environment.items()]
            self.command = ["env", *settings, *self.command]
        self.process, self.pid = None, 0
        self.begins = self.kills = 0

    def start(self):
        command = self.enter(*self.command) if self.enter else self.command
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        self.begins += 1
        self.pid = self.find_pid()

    def find_pid(self):
        """Returns the daemon's own pid: that of the process, or of the child of `enter`."""
        if not self.enter:
            return self.process.pid
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
                children = file.read().split()
            if children:
                return int(children[0])
            time.sleep(0.002)
        raise AssertionError(f"graphd did not start:\n{tail(self.log)}")

    def ended(self):
        """Returns whether the daemon has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
            if number == signal.SIGCONT and self.enter:
                os.kill(self.process.pid, number)  # nsenter stops with its child

    def kill(self):
        self.signal(signal.SIGKILL)
        if self.enter:
            self.signal(signal.SIGCONT)
        self.process.wait(60)
        self.process = None
        self.kills += 1

    def stop(self):
        """Ends the daemon as an administrator does, and returns its exit status."""
        self.signal(signal.SIGTERM)
        return self.process.wait(60)

    def memory(self):
        return memory_of(self.pid)

    def descriptors(self):
        return descriptors_of(self.pid)


@contextlib.contextmanager
def ring_server(folder, *options):
    """Serves a ring whose files are in `folder`, over TCP on loopback and the Unix socket. Yields the
    daemon and the TCP port. After a failure, prints the end of the daemon's log."""
    partition(folder, 1)
    port, = free_ports(1)
    with open(folder + "/ip.txt", "w") as out:
        out.write(f"127.0.0.1 {port}\n")
    daemon = Daemon([os.path.join(BIN, "graphd"), "--server_name", "ring", "--part_config",
                     folder + "/ring.json", "--part_id", "0", "--listen", f"127.0.0.1:{port}",
                     "--runtime_dir", folder + "/run", "--state_dir", folder + "/state",
                     *options], folder + "/log")
    daemon.start()
    try:
        yield daemon, port
    except BaseException:
        print(tail(daemon.log))
        raise
    finally:
        if not daemon.ended():
            daemon.kill()


def ask_ring_server(folder):
    """Returns what `graphctl server status --json` says about the daemon of ring_server; {} if it
    prints nothing."""
    done = subprocess.run([GRAPHCTL, "server", "status", "--server_name", "ring", "--json",
                           "--runtime_dir", folder + "/run", "--ip_config", folder + "/ip.txt"],
                          capture_output=True, text=True, timeout=60 * SLOW)
    return json.loads(done.stdout)[0] if done.stdout else {}
