# SPDX-License-Identifier: Apache-2.0
"""The tutorial and the example trainers, which are files of the package.

``python3 -m graphd.examples FOLDER`` copies them to a folder, where they can be read, run and changed.
"""

from .files import copy_to, names

__all__ = ["copy_to", "names"]
