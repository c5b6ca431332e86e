# SPDX-License-Identifier: Apache-2.0
"""Who this process is. Match ``dgl.distributed``'s functions; samplers are threads here, and so
every process of a job is a trainer."""
import os

from . import session


def get_role():
    """What this process is.

    Returns
    -------
    str
        Always "default": a trainer.
    """
    return "default"


def get_global_rank():
    """This trainer's number in its job, from 0.

    Returns
    -------
    int
    """
    here = session.peek()
    return here.rank if here else int(os.environ.get("RANK", 0))


get_trainer_rank = get_global_rank


def get_rank(role="default"):
    """The same as `get_global_rank`.

    Parameters
    ----------
    role : str
        DGL's; without effect.

    Returns
    -------
    int
    """
    return get_global_rank()


def get_num_trainers():
    """How many trainers the job has.

    Returns
    -------
    int
    """
    here = session.peek()
    return here.world_size if here else int(os.environ.get("WORLD_SIZE", 1))
