# SPDX-License-Identifier: Apache-2.0
"""The files that commands read and write."""

import json
import os
import sys
from typing import Any


def load(path: str) -> Any:
    """Reads a file of JSON. Exits if that fails."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        sys.exit(f"{path} can't be read: {error}; give a file that this command has written")


def write(path: str, text: str) -> None:
    """Writes a file of text. Exits if that fails."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        folder = os.path.dirname(os.path.abspath(path))
        sys.exit(
            f"{path} can't be written: {error.strerror}; is {folder} there, and may you write?"
        )


def write_json(path: str, values: object) -> None:
    """Writes a file of JSON. Exits if that fails."""
    write(path, json.dumps(values, indent=1) + "\n")
