# SPDX-License-Identifier: Apache-2.0
"""Joining a job and leaving it."""

from __future__ import annotations

import atexit
import os
from typing import Any

from .. import _graphd, progress
from ..arguments import (
    not_negative,
    one_of,
    part_config_file,
    part_config_path,
    path,
    text,
    whole_number_in,
)
from ..errors import InvalidError
from ..typing import Path
from .process_group import end_process_group

_session: _graphd.Session | None = None
_part_config: str | None = None  # the part config of standalone mode
_stamp: tuple[int, ...] = ()  # the result of stamp_of when the part config was opened
_is_implicit = False  # whether DistGraph has made the session, and may replace it
_forked = False  # whether this process was forked from one with a session


def initialize(
    ip_config: Path | None = None,
    *legacy: Any,
    num_servers: Any = None,
    num_workers: int | None = None,
    max_queue_size: Any = None,
    net_type: Any = None,
    net_etype: Any = None,
    num_worker_threads: Any = None,
    use_graphbolt: Any = None,
    server_name: str | None = None,
    part_config: Path | None = None,
    state_dir: Path | None = None,
    job_id: str | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    role: str | None = None,
    row_cache: int | str | None = None,
    timeout: float | None = None,
) -> None:
    """Connects this process to the servers of its job. Matches ``dgl.distributed.initialize``.

    Under ``graphctl launch`` the environment has all settings: call it as in DGL, with the name of
    the ip_config file or without. Under torchrun and Slurm's srun the environment says which job
    this is; elsewhere, trainers with the same GRAPHD_JOB_ID or `job_id` are one job. This function
    waits for no other trainer, and may be called before or after
    ``torch.distributed.init_process_group``. When the process ends, graphd ends a process group of
    the backend gloo that the script has not ended. A process that a trainer has started, such as a
    worker of ``torch.utils.data.DataLoader``, calls this function, too. It then joins the trainer's
    job, but takes no part in barriers and synchronous steps. (If the trainer has given `job_id`,
    its children do not join its job unless they give the same arguments.) A forked process cannot
    use the graphs and tensors of its parent. Without servers this function only selects standalone
    mode: `DistGraph` then opens a graph with ``part_config``.

    Parameters
    ----------
    ip_config : str, optional
        File with a line per partition. The launcher's own copy (GRAPHD_IP_CONFIG) takes precedence.
    *legacy
        ``num_servers, num_workers`` of DGL up to 0.8.
    num_workers : int, optional
        Sampler threads per data loader, unless the launcher sets them (``--num_samplers``).
    num_servers, max_queue_size, net_type, net_etype, num_worker_threads, use_graphbolt
        Accepted for DGL; has no effect. (DGL's guide calls net_type net_etype in one place.)
    server_name : str, optional
        The servers to connect to, for processes that were not launched by ``graphctl``.
    part_config, state_dir : str, optional
        For standalone mode: the graph's part config, and the directory of persistent tensors.
    job_id : str, optional
        The job to join, any text that all of its trainers give. Default: that of the launcher.
    rank, world_size : int, optional
        The number of this trainer, from 0, and the number of trainers. Default: those of the
        launcher, as in RANK and WORLD_SIZE.
    role : str, optional
        "trainer" on a machine that is not one of the hosts in ip_config and only computes; it reads
        everything over the network. "host" on the hosts. Default: GRAPHD_ROLE, or else "host".
    row_cache : int or str, optional
        Memory for rows of features that other machines serve, in bytes or as "2GiB", which the
        trainers of this machine share. Default: GRAPHD_ROW_CACHE, or else none.
    timeout : float, optional
        Seconds after which a call without an answer fails (30); at most 86,400.

    Raises
    ------
    graphd.errors.UnavailableError
        If a server does not answer; the message names its address.
    graphd.errors.ExistsError
        If another process is the trainer of this rank.
    graphd.errors.InvalidError
        If there are several trainers and no job id, servers' addresses (GRAPHD_IP_CONFIG) without
        their name, or none of these addresses is this machine's and `role` is not "trainer".
    """
    global _session, _forked
    if _session is not None:
        raise InvalidError(
            "initialize: this process is connected already; call exit_client() first"
        )
    _forked = False
    if len(legacy) >= 2 and all(isinstance(each, int) for each in legacy[:2]):
        num_workers = legacy[1] if num_workers is None else num_workers
    if num_workers is not None:
        num_workers = whole_number_in(num_workers, "num_workers", 0, 1024)
    options = checked_options(server_name, ip_config, part_config, state_dir, timeout)
    options["row_cache"] = checked_row_cache(row_cache)
    options.update(trainer_options(job_id, rank, world_size, role))
    if os.environ.get("GRAPHD_IP_CONFIG"):
        del options["ip_config"]
    if not os.environ.get("GRAPHD_NUM_SAMPLERS"):
        options["num_samplers"] = num_workers
    if server_name or os.environ.get("GRAPHD_SERVER_NAME"):
        server = server_name or os.environ["GRAPHD_SERVER_NAME"]
        _session = connected(options, f"server {server!r}")
        _name_trainer(_session)
    elif part_config or os.environ.get("GRAPHD_PART_CONFIG"):
        _open(options, is_implicit=False)
    elif os.environ.get("GRAPHD_IP_CONFIG"):
        raise InvalidError(
            "initialize: GRAPHD_IP_CONFIG is set, but not GRAPHD_SERVER_NAME; set it to the name of "
            "the servers, or give server_name"
        )
    # Otherwise the process is in standalone mode, and DistGraph gets the part config.


def connected(options: dict[str, Any], source: str) -> _graphd.Session:
    """Makes a session of servers, and shows how long it waits for them.

    Parameters
    ----------
    options : dict
        The arguments of the extension module's Session.
    source : str
        The name of the servers, which the clock shows.

    Returns
    -------
    Session of the extension module
    """
    with progress.clock(f"connecting to {source}"):
        return _graphd.Session(options)


def checked_options(
    server_name: str | None,
    ip_config: Path | None,
    part_config: Path | None,
    state_dir: Path | None,
    timeout: float | None,
) -> dict[str, Any]:
    """Returns options of the extension module's Session; None where the environment decides."""
    options: dict[str, Any] = dict.fromkeys(
        ("server_name", "ip_config", "part_config", "state_dir")
    )
    if server_name:
        options["server_name"] = text(server_name, "server_name", "a name, as 'mine'")
    if ip_config:
        file = "the path of a file with a line per partition"
        options["ip_config"] = path(ip_config, "ip_config", file)
    if part_config:
        options["part_config"] = part_config_path(part_config)
    if state_dir:
        options["state_dir"] = path(state_dir, "state_dir", "the path of a directory")
    options["timeout"] = None if timeout is None else not_negative(timeout, "timeout")
    return options


def checked_row_cache(row_cache: int | str | None) -> str | None:
    """Returns the size of a row cache as the extension module parses it."""
    if row_cache is None or isinstance(row_cache, str):
        return row_cache
    return str(whole_number_in(row_cache, "row_cache", 0, 1 << 46))


def trainer_options(
    job_id: str | None, rank: int | None, world_size: int | None, role: str | None
) -> dict[str, Any]:
    """Returns the options of a trainer for the extension module's Session; those that are not given
    are left out, since the environment decides."""
    if (rank is None) != (world_size is None):
        raise InvalidError(f"rank {rank!r} and world_size {world_size!r}: give both, or neither")
    options: dict[str, Any] = {}
    if job_id is not None:
        options["job_id"] = text(job_id, "job_id")
    if role is not None:
        options["role"] = one_of(role, "role", ("host", "trainer"))
    if rank is not None:
        options["world_size"] = whole_number_in(world_size, "world_size", 1, 1 << 20)
        options["rank"] = whole_number_in(rank, "rank", 0, options["world_size"] - 1)
        if os.environ.get("WORLD_SIZE", "") not in ("", str(options["world_size"])):
            options["remote_trainers"] = 0  # the environment's number is for other trainers
    return options


def exit_client() -> None:
    """Leaves the job. It is registered with atexit, so that calling it is rarely needed.

    It waits for no other process. Graphs and tensors that still exist keep their connections.
    """
    global _session, _part_config
    _session = _part_config = None
    if os.environ.get("GRAPHD_TRAINER", "").startswith(f"{os.getpid()}:"):
        del os.environ["GRAPHD_TRAINER"]


def finalize_client() -> None:
    """Leaves the job: the name of `exit_client` in DGL 0.5."""
    exit_client()


def shutdown_servers(ip_config: Path | None = None, num_servers: Any = None) -> None:
    """Does nothing. In DGL 0.5, trainers end their servers with this function. Here ``graphctl
    launch`` ends the servers that it has started, unless it was called with ``--keep_alive``, and
    other jobs may use the servers.

    Parameters
    ----------
    ip_config, num_servers
        Arguments of DGL since 0.9, for servers that are kept for other jobs. They are refused.

    Raises
    ------
    graphd.errors.InvalidError
        If `ip_config` is given; the message names the command that ends servers.
    """
    if ip_config is not None:
        raise InvalidError(
            f"shutdown_servers: a trainer can't end servers; run: graphctl server stop --ip_config "
            f"{ip_config}, with the --server_name that they have"
        )


def _name_trainer(session: _graphd.Session) -> None:
    """Lets child processes of this process, such as the workers of a torch DataLoader, join the job
    as workers of this trainer."""
    if not session.is_worker and not session.job_id.startswith("anonymous-"):
        os.environ["GRAPHD_TRAINER"] = f"{os.getpid()}:{session.rank}:{session.job_id}"


def _abandon() -> None:
    """Drops the session of the process from which this process was forked."""
    global _session, _part_config, _forked
    if _session is not None:
        _session, _part_config, _forked = None, None, True


def current(part_config: Path | None = None) -> _graphd.Session:
    """Returns the process's session. In standalone mode, the first graph opens it."""
    if _session is None:
        if _forked:
            raise InvalidError(
                "this process was forked from one that is connected; call "
                "graphd.distributed.initialize() in this process"
            )
        if os.environ.get("GRAPHD_SERVER_NAME"):
            raise InvalidError(
                "graphd is not connected; call graphd.distributed.initialize() first"
            )
        if not part_config and not os.environ.get("GRAPHD_PART_CONFIG"):
            raise InvalidError(
                "there are neither servers nor a part_config; run under graphctl "
                "launch, or give part_config='parts/mine.json' to look at a graph "
                "without servers"
            )
        if part_config:
            part_config = part_config_file(part_config)
        _open({"part_config": part_config}, is_implicit=True)
    elif part_config and _part_config and os.path.realpath(part_config) != _part_config:
        raise InvalidError(
            f"part_config {part_config}: this process has {_part_config} open; call "
            "graphd.distributed.exit_client() first"
        )
    assert _session is not None
    return _session


def with_new_files(part_config: Path | None) -> _graphd.Session:
    """Returns the process's session for a new DistGraph. If the graph was partitioned again since
    the session was opened, opens another session; graphs that exist keep the old one."""
    here = current(part_config)
    if not _part_config or not is_replaced(_part_config, _stamp):
        return here
    if not _is_implicit:
        raise InvalidError(
            f"part_config {_part_config}: the graph was partitioned again after initialize(); "
            "call graphd.distributed.exit_client() and initialize() to use the new one"
        )
    _open({"part_config": _part_config}, is_implicit=True)
    return current()


def _open(options: dict[str, Any], is_implicit: bool) -> None:
    """Opens a graph in standalone mode, and remembers which. The path is absolute, since the process
    may change its working directory."""
    global _session, _part_config, _stamp, _is_implicit
    file = os.path.realpath(options["part_config"] or os.environ["GRAPHD_PART_CONFIG"])
    stamp = stamp_of(file)  # taken before the file is read, so that a later change is noticed
    with progress.clock(f"opening {file!r}"):
        _session = _graphd.Session(options)
    _part_config, _stamp, _is_implicit = file, stamp, is_implicit


def stamp_of(file: str) -> tuple[int, ...]:
    """Returns numbers that change when a file is replaced; () if it is gone."""
    try:
        found = os.stat(file)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def is_replaced(file: str, stamp: tuple[int, ...]) -> bool:
    """Returns whether there is another file than when the stamp was taken."""
    return stamp_of(file) not in ((), stamp)


def known_part_config() -> str | None:
    """Returns the part config of the process's session: the one that is open in standalone mode, or
    else that of the launcher."""
    return _part_config or os.environ.get("GRAPHD_PART_CONFIG") or None


def peek() -> _graphd.Session | None:
    """Returns the session, or None if there is none yet."""
    return _session


atexit.register(exit_client)
atexit.register(end_process_group)
atexit.register(_graphd.end_calls)
os.register_at_fork(after_in_child=_abandon)
os.register_at_fork(after_in_child=_graphd.forget_calls)
