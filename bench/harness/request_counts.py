# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a daemon and its client execute for a request."""

import glob
import os
import re
import subprocess
import sys
import tempfile

from harness.paths import program, shown

PROGRAM = "request_loop"
# Hops of fanout 10, reads of rows of 400 bytes, and pushes of rows of 512 bytes.
REQUESTS = (("hop", 1000), ("rows", 10), ("rows", 1000), ("push", 1000))
TRANSPORTS = ("unix", "tcp")
SIDES = ("daemon", "client")
# The difference of two counts leaves out what starting and stopping executes.
FEW, MANY = 50, 350


def names():
    """Returns the names of all counts."""
    return [
        name_of(kind, size, transport, side)
        for kind, size in REQUESTS
        for transport in TRANSPORTS
        for side in SIDES
    ]


def name_of(kind, size, transport, side):
    return f"Request/{kind}:{size}/{transport}/{side}"


def measured(build, pattern, with_times):
    """Returns {name: {"instructions": ..., "seconds": ...}} of the counts whose names match. The
    seconds, if they are wanted, are those of the whole request."""
    found = {}
    for kind, size in REQUESTS:
        for transport in TRANSPORTS:
            chosen = {side: name_of(kind, size, transport, side) for side in SIDES}
            chosen = {side: name for side, name in chosen.items() if re.search(pattern, name)}
            if not chosen:
                continue
            words = [program(build, PROGRAM), kind, str(size), transport]
            few, many = counts(words, FEW), counts(words, MANY)
            seconds = {"seconds": float(run(words, MANY).stdout)} if with_times else {}
            for side, name in chosen.items():
                count = (many[side] - few[side]) // (MANY - FEW)
                found[name] = {"instructions": count, **seconds}
    return found


def counts(words, requests):
    """Returns the instructions of the daemon and of the client, from their start to their end."""
    with tempfile.TemporaryDirectory(prefix="graphd-guard-") as folder:
        valgrind = [
            "valgrind",
            "--tool=callgrind",
            "--trace-children=yes",
            f"--callgrind-out-file={folder}/%p",
        ]
        run(words, requests, valgrind)
        found = {}
        for path in glob.glob(f"{folder}/*"):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            command = re.search(r"^cmd: *(.*)$", text, re.MULTILINE).group(1).split()
            total = int(re.search(r"^totals: (\d+)", text, re.MULTILINE).group(1))
            if os.path.basename(command[0]) == "graphd":
                found["daemon"] = total
            elif len(command) == len(words) + 2:  # the client also gets the ip_config file
                found["client"] = total
    return found


def run(words, requests, before=()):
    """Runs the program after other words. Exits if it fails."""
    done = subprocess.run(
        [*before, *words, str(requests)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(
            f"bench/guard: {shown(words[0])} fails (exit code {done.returncode}):\n"
            + done.stderr[-2000:]
        )
    return done
