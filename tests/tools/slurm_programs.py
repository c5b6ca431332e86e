# SPDX-License-Identifier: Apache-2.0
"""Finds the programs of Slurm and munge, and has the settings that all clusters of tests share."""

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

# The settings of slurm.conf, for str.format: the folder for Slurm's files and munge's socket.
SETTINGS = """
ClusterName=test
AuthType=auth/munge
AuthInfo=socket={socket}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def path_of(program):
    """Returns the path of a program. Debian has daemons in a folder that users need not have in PATH."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        raise AssertionError(f"there is no {program}; apt install {PACKAGES[program]}")
    return found
