# SPDX-License-Identifier: Apache-2.0
"""Connections as objects, for notebooks and for programs that use several servers or graphs."""

from __future__ import annotations

import os
from typing import Any

from .. import _graphd, progress
from ..arguments import part_config_file, text, whole_number_in
from ..errors import InvalidError
from ..html import properties
from ..typing import Path
from .graph import DistGraph
from .session import (
    checked_options,
    checked_row_cache,
    connected,
    is_replaced,
    stamp_of,
    trainer_options,
)


class Session:
    """A connection to servers, or a graph that is opened in this process. `connect` makes it.

    Sessions are independent of each other and of the session of the process, which `initialize`
    makes and which functions without a graph argument use (`get_global_rank`, for example). A
    `with` block closes its session. Every method may be called from any thread.

    Parameters
    ----------
    opened
        The session of the extension module.
    source : str
        The description of the connection in messages.
    part_config : str, optional
        The part config of a graph that is opened in this process.
    stamp : tuple of int
        The stamp of the part config (`stamp_of`), taken before the graph was opened.
    """

    def __init__(
        self,
        opened: _graphd.Session,
        source: str,
        part_config: str | None = None,
        stamp: tuple[int, ...] = (),
    ) -> None:
        self._opened: _graphd.Session | None = opened
        self._source, self._part_config, self._stamp = source, part_config, stamp

    @property
    def handle(self) -> _graphd.Session:
        """The session of the extension module. Raises InvalidError if it is closed."""
        opened = self._opened  # close() in another thread may replace it meanwhile
        if opened is None:
            raise InvalidError(f"the session of {self._source} is closed; call connect again")
        return opened

    def graph(self, graph_name: str = "", *, persistent_features: bool = False) -> DistGraph:
        """Returns the graph.

        Parameters
        ----------
        graph_name : str
            The name that the graph was partitioned with; "" accepts any name.
        persistent_features : bool
            Whether changes of features of nodes belong to the servers; see `DistGraph`.

        Returns
        -------
        DistGraph

        Raises
        ------
        graphd.errors.NotFoundError
            If the servers serve a graph of a different name.
        graphd.errors.InvalidError
            If the graph was partitioned again since `connect` opened it in this process.
        """
        name, handle = text(graph_name, "graph_name", "a name"), self.handle
        if self._part_config and is_replaced(self._part_config, self._stamp):
            raise InvalidError(
                f"part_config {self._part_config}: the graph was partitioned again after connect(); "
                "call graphd.connect again to use the new one"
            )
        return DistGraph._of(handle, name, self._part_config, persistent_features)

    @property
    def rank(self) -> int:
        """The number of this trainer in its job, from 0."""
        return self.handle.rank

    @property
    def world_size(self) -> int:
        """The number of trainers of the job."""
        return self.handle.world_size

    @property
    def is_standalone(self) -> bool:
        """Whether the graph is opened in this process, without servers."""
        return self.handle.is_standalone

    def barrier(self) -> None:
        """Waits for every trainer of the job."""
        self.handle.barrier()

    def close(self) -> None:
        """Leaves the job. Graphs and tensors that still exist keep their connections. Closing a
        closed session does nothing."""
        self._opened = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        opened = self._opened
        if opened is None:
            return f"<graphd.Session of {self._source}, closed>"
        rank = "" if opened.world_size == 1 else f", trainer {opened.rank} of {opened.world_size}"
        return f"<graphd.Session of {self._source}{rank}>"

    def _repr_html_(self) -> str:
        opened = self._opened
        state = "closed" if opened is None else "open"
        shown: list[tuple[str, Any]] = [("connected to", self._source), ("state", state)]
        if opened is not None:
            shown += [("rank", opened.rank), ("world_size", opened.world_size)]
        return properties("Session", shown)


def connect(
    server_name: str | None = None,
    *,
    ip_config: Path | None = None,
    part_config: Path | None = None,
    state_dir: Path | None = None,
    job_id: str | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    role: str | None = None,
    num_samplers: int | None = None,
    row_cache: int | str | None = None,
    timeout: float | None = None,
) -> Session:
    """Connects to servers, or opens a graph in this process, and returns the session.

    Unlike `initialize`, it may be called several times. An argument takes precedence over the
    environment.

    Parameters
    ----------
    server_name : str, optional
        The servers to connect to. Default: GRAPHD_SERVER_NAME, unless there is a `part_config`.
    ip_config : str, optional
        File with a line per partition. Default: GRAPHD_IP_CONFIG.
    part_config, state_dir : str, optional
        For a graph without servers: its part config, and the directory of persistent tensors.
    job_id : str, optional
        The job to join. Default: a job of its own, with one trainer.
    rank, world_size : int, optional
        The number of this trainer in the job, from 0, and the number of its trainers. Default: those
        of the launcher, as in RANK and WORLD_SIZE.
    role : str, optional
        "trainer" on a machine that is not one of the hosts in ip_config and only computes; it reads
        everything over the network. "host" on the hosts. Default: GRAPHD_ROLE, or else "host".
    num_samplers : int, optional
        Sampler threads per data loader of its graphs.
    row_cache : int or str, optional
        Memory for rows of features that other machines serve, in bytes or as "2GiB", which the
        trainers of this machine share. Default: GRAPHD_ROW_CACHE, or else none.
    timeout : float, optional
        Seconds after which a call without an answer fails (30); at most 86,400.

    Returns
    -------
    Session

    Raises
    ------
    graphd.errors.InvalidError
        If an argument is not valid, neither arguments nor environment name a server or a graph, or
        no address in ip_config is this machine's and `role` is not "trainer".
    graphd.errors.UnavailableError
        If a server does not answer; the message names its address. It is raised after 5 seconds, and not
        only after `timeout`, if this machine has servers, but none of this name.

    Examples
    --------
    >>> with graphd.connect("mine", ip_config="ip_config.txt") as session:    # doctest: +SKIP
    ...     g = session.graph()
    """
    if server_name and part_config:
        raise InvalidError(
            f"server_name {server_name!r} and part_config {str(part_config)!r} exclude each other: "
            "the servers have a part config of their own"
        )
    options = checked_options(server_name, ip_config, part_config, state_dir, timeout)
    options["num_samplers"] = (
        None if num_samplers is None else whole_number_in(num_samplers, "num_samplers", 0, 1024)
    )
    options["row_cache"] = checked_row_cache(row_cache)
    options.update(trainer_options(job_id or "", rank, world_size, role))
    if not job_id:
        if rank is not None:
            raise InvalidError(
                f"rank {rank} without a job_id; give the job that it is a trainer of"
            )
        options.update(rank=0, world_size=1, local_rank=0, local_world_size=1, remote_trainers=0)
    server = server_name or (not part_config and os.environ.get("GRAPHD_SERVER_NAME"))
    if server:
        source = f"server {server!r}"
        return Session(connected(options, source), source)
    file = part_config or os.environ.get("GRAPHD_PART_CONFIG")
    if not file:
        raise InvalidError(
            "connect: give a server_name (with ip_config), or part_config='parts/mine.json' to "
            "open a graph without servers"
        )
    file = os.path.realpath(part_config_file(file))
    options.update(server_name="", part_config=file)
    stamp = stamp_of(file)  # taken before the file is read, so that a later change is noticed
    with progress.clock(f"opening {file!r}"):
        return Session(_graphd.Session(options), repr(file), file, stamp)
