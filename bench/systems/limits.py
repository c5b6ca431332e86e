# SPDX-License-Identifier: Apache-2.0
"""The limits of the machine: those that the benchmark programs measure beside their own results, and
reading and writing files."""

import json
import mmap
import os
import socket
import subprocess
import tempfile
import time

from harness import programs
from harness.paths import ROOT

PIECE, TRIPS = 1 << 22, 2000
# limit -> program, benchmark, and its "limit", "rate" or another counter
FROM_PROGRAMS = {
    "lines": ("sampling_bench", "BM_RandomLines/", "rate"),
    "kernel": ("sampling_bench", "BM_Sample/large/uniform/", "rate"),
    "rows_local": ("transfer_bench", "BM_Gather/transport:0/rows:100000", "limit"),
    "rows_remote": ("transfer_bench", "BM_Gather/transport:2/rows:100000", "limit"),
    "step": (
        "tensor_bench",
        "BM_EmbeddingStep/transport:0/zipf:0/state:1/durability:1/staleness:0/write_back:0",
        "push_loop_rows/s",
    ),
}


def from_programs(build):
    """Returns {limit: value or None}, with the rate of the sampling kernel as "kernel", and the lines
    of the benchmarks."""
    found, lines = dict.fromkeys(FROM_PROGRAMS), []
    for program in dict.fromkeys(program for program, _, _ in FROM_PROGRAMS.values()):
        wanted = {
            name: (benchmark, counter)
            for name, (of, benchmark, counter) in FROM_PROGRAMS.items()
            if of == program
        }
        pattern = "|".join(f"^{benchmark}" for benchmark, _ in wanted.values())
        for line in programs.measure([os.path.join(build, "bin", program)], pattern):
            lines.append(line)
            for name, (benchmark, key) in wanted.items():
                if line["name"].startswith(benchmark) and "error" not in line:
                    found[name] = {**line["counters"], **line}.get(key)
    return found, lines


def edges_per_line(python, graph):
    """Returns how many edges batches of the graph have per line of memory, by the name of a row, as
    "..._per_line"."""
    done = subprocess.run([python, "-m", "systems.lines", graph], check=True, stdout=subprocess.PIPE,
                          cwd=os.path.join(ROOT, "bench"))  # fmt: skip
    return {f"{name}_per_line": value for name, value in json.loads(done.stdout).items()}


def sockets(tcp):
    """Returns two sockets that are connected, over TCP on loopback or as Unix sockets."""
    if not tcp:
        return socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ends = socket.create_connection(listener.getsockname()), listener.accept()[0]
    for end in ends:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ends


def trip_seconds(tcp):
    """Returns the time of a round trip of 8 bytes between two processes."""
    ours, theirs = sockets(tcp)
    child = os.fork()
    if child == 0:
        ours.close()
        while word := theirs.recv(8):
            theirs.sendall(word)
        os._exit(0)
    theirs.close()
    with ours:
        begin = time.perf_counter()
        for _ in range(TRIPS):
            ours.sendall(bytes(8))
            ours.recv(8)
        seconds = (time.perf_counter() - begin) / TRIPS
    os.waitpid(child, 0)
    return seconds


def files_below(folder):
    return [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]


def size(folder):
    return sum(map(os.path.getsize, files_below(folder)))


def evict(folder):
    """Drops files from the page cache, after writing them to the disk."""
    for path in files_below(folder):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_seconds(paths):
    """Returns the time of reading files from the beginning to the end."""
    buffer = bytearray(PIECE)
    begin = time.perf_counter()
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return time.perf_counter() - begin


def touch_seconds(count):
    """Returns the time in which so many bytes of new shared memory are touched for the first time."""
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        os.ftruncate(file.fileno(), count)
        with mmap.mmap(file.fileno(), count) as memory:
            # Tables ask for huge pages, too, where the machine allows them.
            memory.madvise(mmap.MADV_HUGEPAGE)
            begin = time.perf_counter()
            for at in range(0, count, mmap.PAGESIZE):
                memory[at] = 1
            return time.perf_counter() - begin


def write_seconds(count, folder):
    """Returns the time of writing so many bytes to a file and to the disk."""
    piece = os.urandom(PIECE)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        begin = time.perf_counter()
        for at in range(0, count, PIECE):
            file.write(piece[: count - at])
        os.fsync(file.fileno())
        return time.perf_counter() - begin
