#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three hosts in namespaces, each with a daemon and a trainer, and random faults: kill -9 and SIGSTOP
of daemons and trainers, cut links, full disks and memory, too few descriptors, too little memory, greedy
jobs that push without a pause, and clients that send nonsense, read nothing, ask for too much or come in
crowds.
In the end every row has exactly the changes that were acknowledged, every process ends in time, and
nothing is left.

  GRAPHD_BIN_DIR=build/dev/bin tests/integration/chaos/chaos_test.py --seconds 1800 --seed 7

A seed repeats a run's schedule of faults. Needs root."""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../launch", "../../cluster"):
    sys.path.insert(0, os.path.join(HERE, folder))
from daemons import Daemon, descriptors_of, kinds_of_descriptors, tail  # noqa: E402
from harness import BIN, GRAPHCTL, SLOW, wait_until, write_raw_graph  # noqa: E402
from machines import Cluster  # noqa: E402
from memory_limit import MemoryLimit  # noqa: E402

PORT = 30050
NODES = 3000
STUCK = 150  # seconds without a step, after which a trainer counts as hanging
MORE_MEMORY = 64  # MiB that a daemon may have more at the end than when it began
MORE_DESCRIPTORS = 16  # RocksDB's files
# Seconds in which a daemon deletes the tensors of killed jobs and closes their files: a minute
# after these have left, or after its last start.
UNTIL_CLOSED = 90
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
CROWDS = {"garbage": 20, "half": 40, "unread": 4, "short": 50, "idle": 60, "greedy": 2, "calls": 60}


class Host:
    """A machine with a daemon of one partition, and a trainer that is started again when killed."""

    def __init__(self, machine, part, cluster, options, keys):
        self.machine, self.part, self.cluster = machine, part, cluster
        self.limit = MemoryLimit(f"graphd-chaos-{os.getpid()}-{part}") if options.memory else None
        self.is_short_of_memory, self.memory_kills = False, 0
        # Killed processes leave files of libfaketime there.
        subprocess.run(machine.enter("mount", "-t", "tmpfs", "none", "/dev/shm"), check=True)
        self.clock = machine.folder + "/clock"
        self.set_clock(0)
        environment = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": self.clock,
                       "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                       # A clock that jumps does not change when files were written.
                       "NO_FAKE_STAT": "1"}
        for name, size in (("state", "600m"), ("memory", "256m")):
            os.makedirs(f"{machine.folder}/srv/{name}")
            subprocess.run(machine.enter("mount", "-t", "tmpfs", "-o", f"size={size},mode=755",
                                         "none", f"/srv/{name}"), check=True)
        access = ["--keys", keys] if keys else ["--insecure"]
        self.daemon = Daemon(
            [cluster.root + "/bin/graphd", "--server_name", "chaos", "--part_config",
             cluster.root + "/ring.json", "--part_id", str(part), "--listen",
             f"{machine.address}:{PORT}", "--state_dir", "/srv/state", "--memory_dir",
             "/srv/memory", "--write_back_seconds", "2", *access],
            machine.folder + "/graphd.log", machine.enter, environment if options.clocks else {})
        self.keys = {"GRAPHD_KEYS": keys} if keys else {}
        self.trainer, self.trainer_pid, self.jobs, self.trainer_kills = None, 0, 0, 0
        self.output = machine.folder + "/trainer.log"
        self.pushes = machine.folder + "/pushes.log"  # output of greedy jobs

    def start_daemon(self):
        self.daemon.start()
        if self.limit:
            self.limit.add(self.daemon.pid)

    def is_serving(self):
        with open(self.daemon.log) as file:
            return file.read().count(" serving '") == self.daemon.begins

    def set_clock(self, seconds):
        """Makes the daemon's CLOCK_REALTIME differ from the machine's."""
        with open(self.clock, "w") as out:
            out.write(f"{seconds:+d}s\n")

    def path(self, name):
        """Returns a path on the machine as this process sees it."""
        return f"/proc/{self.machine.init()}/root{name}"

    def start_job(self, program, *arguments, output):
        """Starts a program as a new job on this host; returns its process, and its own pid."""
        self.jobs += 1
        environment = dict(
            os.environ, GRAPHD_SERVER_NAME="chaos", GRAPHD_IP_CONFIG=self.cluster.root + "/ip.txt",
            GRAPHD_MODEL=self.cluster.root + "/ring.json", GRAPHD_TIMEOUT="20",
            GRAPHD_JOB_ID=f"host{self.part}-{self.jobs}", GRAPHD_PART_ID=str(self.part),
            **self.keys)
        with open(output, "a") as out:
            process = subprocess.Popen(
                self.machine.enter(f"{self.cluster.root}/bin/{program}", *arguments),
                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        job = Daemon.__new__(Daemon)
        job.process, job.enter, job.log = process, True, output
        return process, job.find_pid()

    def start_trainer(self):
        self.trainer, self.trainer_pid = self.start_job(
            "chaos_trainer", self.machine.folder + "/journal", f"embedding{self.part}",
            str(self.part + 1), output=self.output)

    def signal_trainer(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.trainer_pid, number)
            if number in (signal.SIGCONT, signal.SIGKILL):
                os.kill(self.trainer.pid, signal.SIGCONT)

    def kill_trainer(self):
        self.signal_trainer(signal.SIGKILL)
        self.trainer.wait(60)
        self.trainer_kills += 1
        self.start_trainer()

    def steps(self):
        """Returns how many steps the trainer has made, and when it wrote last."""
        text = tail(self.output, 200)
        steps = [line for line in text.splitlines() if line.startswith(("step ", "replayed "))]
        return int(steps[-1].split()[1]) if steps else 0


# Faults: each is a function that begins it and returns a function that ends it.

def kill_daemon(host, rng):
    host.daemon.kill()
    return host.start_daemon


def stop_daemon(host, rng):
    host.daemon.signal(signal.SIGSTOP)
    return lambda: host.daemon.signal(signal.SIGCONT)


def kill_trainer(host, rng):
    host.kill_trainer()
    return lambda: None


def stop_trainer(host, rng):
    host.signal_trainer(signal.SIGSTOP)
    return lambda: host.signal_trainer(signal.SIGCONT)


def cut_link(host, rng):
    host.cluster.cable(host.machine, False)
    return lambda: host.cluster.cable(host.machine, True)


def fill(host, folder):
    """Takes all but a little of a file system's space."""
    ballast = host.path(f"/srv/{folder}/ballast")
    system = os.statvfs(host.path(f"/srv/{folder}"))
    with open(ballast, "wb") as out, contextlib.suppress(OSError):
        os.posix_fallocate(out.fileno(), 0, max(1, system.f_bavail * system.f_bsize - 65536))
    return lambda: os.remove(ballast)


def fill_disk(host, rng):
    return fill(host, "state")


def fill_memory(host, rng):
    return fill(host, "memory")


def take_descriptors(host, rng):
    if not host.is_serving():  # without descriptors, a daemon doesn't start
        return lambda: None
    pid, few = host.daemon.pid, descriptors_of(host.daemon.pid) + rng.randrange(4)
    limits = subprocess.run(["prlimit", "--pid", str(pid), "--nofile", "-o", "SOFT,HARD",
                             "--noheadings"], capture_output=True, text=True, check=True)
    soft, hard = limits.stdout.split()
    subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={few}:{hard}"], check=True)
    # The daemon may have been killed meanwhile.
    return lambda: subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={soft}:{hard}"],
                                  stderr=subprocess.DEVNULL, check=False)


def limit_memory(host, rng):
    host.is_short_of_memory = True
    host.limit.leave_only(rng.randrange(1 << 22))

    def end():
        host.limit.lift()
        host.is_short_of_memory = False
        if host.limit.has_killed():
            host.daemon.process.wait(60)
            host.memory_kills += 1
            host.start_daemon()
    return end


def jump_clock(host, rng):
    host.set_clock(rng.choice((-86400, -30, 30, 86400)))
    return lambda: host.set_clock(0)


def greedy_job(host, rng):
    process, pid = host.start_job("chaos_pusher", f"greedy{host.part}", output=host.pushes)

    def end():
        if process.poll() is not None:
            raise AssertionError(f"the greedy job of host {host.part} has ended, status "
                                 f"{process.returncode}:\n{tail(host.pushes)}")
        os.kill(pid, signal.SIGKILL)
        process.wait(60)
    return end


def crowd(host, rng):
    kind = rng.choice(sorted(CROWDS))
    seconds = rng.uniform(1, 6)
    process = subprocess.Popen(
        host.cluster.operator.enter(
            host.cluster.root + "/bin/chaos_clients", kind, f"{host.machine.address}:{PORT}",
            str(CROWDS[kind]), f"{seconds:.1f}", str(rng.randrange(1 << 30)), str(host.part),
            *([host.keys["GRAPHD_KEYS"], "chaos"] if host.keys else [])),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    host.crowds = [*getattr(host, "crowds", []), process]
    return lambda: None


FAULTS = {kill_daemon: 3, stop_daemon: 2, kill_trainer: 2, stop_trainer: 1, cut_link: 2,
          fill_disk: 1, fill_memory: 1, take_descriptors: 1,
          greedy_job: 2, crowd: 4}
# These happen only with the option of this name.
MORE_FAULTS = {"clocks": {jump_clock: 2}, "memory": {limit_memory: 2}}


def make_schedule(faults, seed, seconds, hosts):
    """Returns (begin, duration, fault, host's number, seed of the fault), in the order of time."""
    rng = random.Random(seed)
    schedule, at = [], 1.0
    while at < seconds - 4:
        fault = rng.choices(list(faults), list(faults.values()))[0]
        schedule.append((at, rng.uniform(0.1, 3), fault, rng.randrange(hosts), rng.randrange(1 << 30)))
        at += rng.expovariate(1.2)
    return schedule


class Chaos:
    def __init__(self, options):
        self.options = options
        self.faults = dict(FAULTS)
        for option, faults in MORE_FAULTS.items():
            self.faults.update(faults if getattr(options, option) else {})
        self.counts = {fault.__name__: 0 for fault in self.faults}
        self.hosts = []
        self.cluster = Cluster(options.hosts)
        try:
            self.prepare()
        except BaseException:
            self.close()
            raise

    def prepare(self):
        root = self.cluster.root
        os.mkdir(root + "/bin")
        for program in ("graphd", "../tests/chaos_trainer", "../tests/chaos_pusher",
                        "../tests/chaos_clients"):
            shutil.copy(os.path.join(BIN, program), root + "/bin")
        write_raw_graph(root + "/raw_graph", NODES)
        subprocess.run([GRAPHCTL, "partition", "--input", root + "/raw_graph", "--graph_name", "ring",
                        "--num_parts", str(self.options.hosts), "--part_method", "random",
                        "--output", root], check=True, capture_output=True)
        with open(root + "/ip.txt", "w") as out:
            out.write("".join(f"{m.address} {PORT}\n" for m in self.cluster.machines))
        keys = root + "/keys" if self.options.keys else ""
        if keys:
            subprocess.run([GRAPHCTL, "keys", "create", "--server_name", "chaos", "--keys", keys],
                           check=True, capture_output=True)
        for part, machine in enumerate(self.cluster.machines):
            self.hosts.append(Host(machine, part, self.cluster, self.options, keys))

    def run(self):
        for host in self.hosts:
            host.start_daemon()
            host.start_trainer()
        wait_until("the first steps", lambda: self.check() and
                   all(host.steps() >= 20 for host in self.hosts), 60)
        before = [(h.daemon.memory(), h.daemon.descriptors()) for h in self.hosts]
        self.make_faults()
        self.finish(before)

    def check(self):
        """Raises if a process has ended by itself or makes no steps."""
        for host in self.hosts:
            # While a daemon has too little memory, the kernel may kill it.
            if host.daemon.ended() and not (host.is_short_of_memory and
                                            host.daemon.process.returncode == -signal.SIGKILL):
                raise AssertionError(f"the daemon of host {host.part} has ended, status "
                                     f"{host.daemon.process.returncode}:\n{tail(host.daemon.log)}")
            if host.trainer.poll() is not None:
                raise AssertionError(f"the trainer of host {host.part} has ended, status "
                                     f"{host.trainer.returncode}:\n{tail(host.output)}")
            quiet = time.time() - os.stat(host.output).st_mtime
            if quiet > STUCK * SLOW:
                raise AssertionError(f"the trainer of host {host.part} has been silent for "
                                     f"{quiet:.0f} s:\n{tail(host.output)}")
        return True

    def make_faults(self):
        schedule = make_schedule(self.faults, self.options.seed, self.options.seconds, len(self.hosts))
        begin, ends, busy = time.monotonic(), [], {}
        while schedule or ends:
            now = time.monotonic() - begin
            for end in [each for each in ends if each[0] <= now]:
                ends.remove(end)
                end[1]()
                busy.pop(end[2], None)
            if schedule and schedule[0][0] <= now:
                _, duration, fault, number, seed = schedule.pop(0)
                # A daemon that is away or stopped gets no second fault meanwhile; nor a trainer.
                key = (number, "trainer" if fault in (kill_trainer, stop_trainer) else
                       fault.__name__ if fault in (crowd, cut_link, greedy_job, jump_clock) else
                       "daemon")
                if key not in busy and not (fault is crowd and len(self.crowds()) > 6):
                    if self.options.verbose:
                        print(f"{now:7.2f} s: {fault.__name__} of host {number} for {duration:.2f} s")
                    busy[key] = True
                    ends.append((now + duration, fault(self.hosts[number], random.Random(seed)), key))
                    self.counts[fault.__name__] += 1
            self.check()
            time.sleep(0.02)

    def crowds(self):
        return [each for host in self.hosts for each in getattr(host, "crowds", [])
                if each.poll() is None]

    def finish(self, before):
        wait_until("the crowds to go", lambda: not self.crowds(), 60)
        steps = [host.steps() for host in self.hosts]
        wait_until("every trainer to make steps again", lambda: self.check() and all(
            host.steps() > step + 3 for host, step in zip(self.hosts, steps, strict=True)), STUCK)
        for host in self.hosts:
            host.signal_trainer(signal.SIGTERM)
        for host in self.hosts:
            status = host.trainer.wait(STUCK * SLOW)
            last = tail(host.output, 1).strip()
            for_memory = f" ({host.memory_kills} more by the kernel)" if host.limit else ""
            print(f"host {host.part}: {host.daemon.kills} kills of the daemon{for_memory}, "
                  f"{host.trainer_kills} of the trainer; {last}")
            if status != 0:
                raise AssertionError(f"status {status}:\n{tail(host.output)}")
        self.check_what_is_left(before)
        pushes = sum(tail(host.pushes, 1 << 40).splitlines().count("pushed") for host in self.hosts)
        print(f"greedy jobs pushed {pushes} times")
        # A few short ones may have met only daemons that were away.
        assert pushes > 0 or self.counts["greedy_job"] < 10, "no greedy job has pushed"
        print(f"seed {self.options.seed}, {self.options.seconds:.0f} s: " +
              ", ".join(f"{count} {name}" for name, count in self.counts.items()))

    def check_what_is_left(self, before):
        for host, (memory, descriptors) in zip(self.hosts, before, strict=True):
            try:
                wait_until("the descriptors to be closed", lambda h=host, d=descriptors:
                           h.daemon.descriptors() <= d + MORE_DESCRIPTORS, UNTIL_CLOSED)
            except AssertionError as error:
                raise AssertionError(
                    f"host {host.part}: {descriptors} descriptors before, {host.daemon.descriptors()} "
                    f"after: {kinds_of_descriptors(host.daemon.pid)}") from error
            wait_until("the memory to be given back",
                       lambda h=host, m=memory: h.daemon.memory() <= m + MORE_MEMORY)
            print(f"host {host.part}: memory {memory:.0f} MiB before, {host.daemon.memory():.0f} "
                  f"after; descriptors {descriptors} before, {host.daemon.descriptors()} after")
        for host in self.hosts:
            status = host.daemon.stop()
            assert status == 0, f"status {status}:\n{tail(host.daemon.log)}"
            sockets, left = host.machine.sockets(), host.machine.work()
            assert sockets == [] and left == [], f"left on host {host.part}: {sockets} {left}"

    def close(self):
        try:
            self.cluster.close()
        finally:
            for host in self.hosts:
                if host.limit:
                    host.limit.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--keys", action="store_true",
                        help="encrypt connections, with keys that graphctl makes")
    parser.add_argument("--clocks", action="store_true",
                        help="let the daemons' clocks jump, too; needs Debian's libfaketime")
    parser.add_argument("--memory", action="store_true",
                        help="limit the daemons' memory to what they use, too, so that the kernel "
                             "may kill them; needs the memory controller")
    parser.add_argument("--verbose", action="store_true", help="print each fault")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("the chaos test makes network namespaces: run it as root")
    if options.clocks and not os.path.exists(FAKETIME):
        raise SystemExit(f"--clocks needs {FAKETIME}: install libfaketime")
    chaos = Chaos(options)
    try:
        chaos.run()
    except BaseException:
        for host in chaos.hosts:
            print(f"host {host.part}, daemon:\n{tail(host.daemon.log, 15)}")
            print(f"host {host.part}, trainer:\n{tail(host.output, 15)}")
        raise
    finally:
        chaos.close()


if __name__ == "__main__":
    main()
