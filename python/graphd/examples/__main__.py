# SPDX-License-Identifier: Apache-2.0
"""Copies the tutorial and the example trainers of the package to a folder."""

import argparse
import sys

from ..errors import GraphdError
from .files import copy_to


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m graphd.examples", description=__doc__)
    parser.add_argument(
        "folder", nargs="?", default="graphd-examples", help="default: graphd-examples"
    )
    folder = parser.parse_args().folder
    try:
        copies = copy_to(folder)
    except (GraphdError, OSError) as error:
        sys.exit(f"graphd.examples: {error}")
    print(f"copied {len(copies)} files to {folder}; begin with tutorial.md there")


main()
