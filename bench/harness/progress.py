# SPDX-License-Identifier: Apache-2.0
"""The lines that a command prints while it works."""

import sys


def say(command: str, text: str) -> None:
    print(f"{command}: {text}", file=sys.stderr, flush=True)
