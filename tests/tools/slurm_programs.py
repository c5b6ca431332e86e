# SPDX-License-Identifier: Apache-2.0
"""Finds the programs of Slurm and munge."""

import os
import shutil

# Debian's packages of the programs.
PACKAGES = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "srun": "slurm-client",
}


def path_of(program):
    """Returns the path of a program. Debian has daemons in a folder that users need not have in PATH."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        raise AssertionError(f"there is no {program}; apt install {PACKAGES[program]}")
    return found
