# SPDX-License-Identifier: Apache-2.0
"""The role and rank of this process, under the names of ``dgl.distributed``.

Samplers are threads in graphd, so that every process of a job is a trainer.
"""

from __future__ import annotations

import os

from . import session


def get_role() -> str:
    """Returns the role of this process.

    Returns
    -------
    str
        Always "default": a trainer.
    """
    return "default"


def get_global_rank() -> int:
    """Returns this trainer's number in its job, from 0.

    Returns
    -------
    int
    """
    here = session.peek()
    return here.rank if here else int(os.environ.get("RANK", "0"))


get_trainer_rank = get_global_rank


def get_rank(role: str = "default") -> int:
    """Returns the same as `get_global_rank`.

    Parameters
    ----------
    role : str
        Accepted for DGL; has no effect.

    Returns
    -------
    int
    """
    return get_global_rank()


def get_num_trainers() -> int:
    """Returns the number of trainers of the job.

    Returns
    -------
    int
    """
    here = session.peek()
    return here.world_size if here else int(os.environ.get("WORLD_SIZE", "1"))
