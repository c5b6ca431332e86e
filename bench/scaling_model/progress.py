# SPDX-License-Identifier: Apache-2.0
"""The lines that bench/scaling prints while it works."""

import sys


def say(text: str) -> None:
    print(f"bench/scaling: {text}", file=sys.stderr, flush=True)
