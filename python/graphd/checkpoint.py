# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: the persistent tensors of a graph's servers as they were at one moment, optimisers'
state included, with what a trainer wants to keep beside them. The same as ``graphctl checkpoint``.

Make and restore them in one trainer, while the others of the job wait in `DistGraph.barrier`.
"""
import collections.abc
import dataclasses

from . import _graphd
from .arguments import graph_of, text
from .errors import InvalidError


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """What is known of a checkpoint.

    Attributes
    ----------
    name, graph_name : str
    num_parts : int
        Partitions that the graph had.
    created : str
        UTC, "2026-01-31T12:00:00Z".
    bytes : int
        On the disks of all machines.
    tensors : dict of str to (str, tuple of int)
        dtype and shape by name.
    files : dict of str to int
        Sizes in bytes by name.
    """

    name: str
    graph_name: str
    num_parts: int
    created: str
    bytes: int
    tensors: dict
    files: dict


def create(g, name, tensors=(), files=None):
    """Makes a checkpoint.

    Parameters
    ----------
    g : DistGraph
    name : str
        Letters, digits, and ``._-``.
    tensors : list of str, optional
        Names; default: all persistent ones.
    files : dict of str to bytes, optional
        What to keep with them, as what ``torch.save`` writes to an ``io.BytesIO``; not a path.

    Returns
    -------
    Checkpoint

    Raises
    ------
    graphd.errors.ExistsError
        If there is one of this name.
    graphd.errors.InvalidError
        If `files` are no bytes by name.
    """
    files = {} if files is None else files
    if not isinstance(files, dict):
        raise InvalidError(f"files: expected a dict of name to bytes, got {type(files)}")
    for file, content in files.items():
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise InvalidError(f"files: {file!r} is {type(content)}, expected its content as "
                               "bytes; read it, or let torch.save write to an io.BytesIO()")
    files = {file: bytes(content) for file, content in files.items()}
    return Checkpoint(**_graphd.create_checkpoint(graph_of(g).handle, text(name, "name"),
                                                  _names(tensors), files))


def _names(tensors):
    if isinstance(tensors, str):
        raise InvalidError(f"tensors {tensors!r}: expected a list of names; put [] around it")
    if not isinstance(tensors, collections.abc.Iterable):
        raise InvalidError(f"tensors {tensors!r}: expected a list of names")
    return [text(name, "tensors: name") for name in tensors]


def list(g):
    """All whole checkpoints, by name.

    Parameters
    ----------
    g : DistGraph

    Returns
    -------
    list of Checkpoint
    """
    return [Checkpoint(**each) for each in _graphd.list_checkpoints(graph_of(g).handle)]


def restore(g, name, tensors=()):
    """Gives tensors the rows and the optimisers' states that they had; makes those that are gone.
    The graph may have another number of partitions now.

    Parameters
    ----------
    g : DistGraph
    name : str
    tensors : list of str, optional
        Default: all of the checkpoint.

    Raises
    ------
    graphd.errors.NotFoundError
        If there is none of this name.
    """
    _graphd.restore_checkpoint(graph_of(g).handle, text(name, "name"), _names(tensors))


def read_file(g, name, file):
    """What was kept under a name beside the tensors.

    Parameters
    ----------
    g : DistGraph
    name : str
        Of the checkpoint.
    file : str
        As `create` was told.

    Returns
    -------
    bytes

    Raises
    ------
    graphd.errors.NotFoundError
        If there is none of this name.
    """
    return _graphd.read_checkpoint_file(graph_of(g).handle, text(name, "name"),
                                        text(file, "file", "the name that it was kept under"))


def delete(g, name):
    """Removes a checkpoint from all machines.

    Parameters
    ----------
    g : DistGraph
    name : str

    Raises
    ------
    graphd.errors.NotFoundError
        If there is none of this name.
    """
    _graphd.delete_checkpoint(graph_of(g).handle, text(name, "name"))
