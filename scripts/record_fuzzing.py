#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds one run of a fuzz target to docs/fuzzing.json, and renews the table of docs/reliability.md.

    scripts/record_fuzzing.py TARGET INPUTS SECONDS
    scripts/record_fuzzing.py TARGET --fault      after an input that the target did not survive

scripts/fuzz --record calls it, also for several targets at a time. The record counts what a target has
survived since its last fault, so a fault sets it to zero."""

import argparse
import datetime
import fcntl
import json
import pathlib
import re
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "fuzzing.json"
PAGE = ROOT / "docs" / "reliability.md"
TABLE = re.compile(r"(<!-- begin fuzzing -->\n).*?(<!-- end fuzzing -->)", re.DOTALL)


def add(targets: dict[str, dict[str, Any]], name: str, inputs: int, seconds: int) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    today = datetime.date.today().isoformat()
    entry = targets.setdefault(name, {"inputs": 0, "seconds": 0, "since": today})
    entry["inputs"] += inputs
    entry["seconds"] += seconds
    entry |= {"until": today, "commit": commit}


def table(targets: dict[str, dict[str, Any]]) -> str:
    inputs = sum(each["inputs"] for each in targets.values())
    hours = sum(each["seconds"] for each in targets.values()) / 3600
    lines = [
        f"{len(targets)} targets have survived {inputs:,} inputs in {hours:.1f} h of processor time.",
        "",
        "| target | inputs | processor time | from | to |",
        "|---|---|---|---|---|",
    ]
    for name, each in sorted(targets.items(), key=lambda item: -item[1]["seconds"]):
        minutes = each["seconds"] / 60
        lines.append(
            f"| `{name}` | {each['inputs']:,} | {minutes:.1f} min | {each['since']} | {each['until']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("inputs", type=int, nargs="?", default=0)
    parser.add_argument("seconds", type=int, nargs="?", default=0)
    parser.add_argument("--fault", action="store_true")
    arguments = parser.parse_args()
    with PAGE.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        targets = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        if arguments.fault:
            targets.pop(arguments.target, None)
        else:
            add(targets, arguments.target, arguments.inputs, arguments.seconds)
        RECORD.write_text(json.dumps(targets, indent=1, sort_keys=True) + "\n")
        page, found = TABLE.subn(lambda match: match[1] + table(targets) + match[2], PAGE.read_text())
        if found != 1:
            sys.exit(f"record_fuzzing: {PAGE}: the lines that begin and end its table are missing")
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
