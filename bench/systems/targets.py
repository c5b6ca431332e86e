# SPDX-License-Identifier: Apache-2.0
"""The reasons why a run misses targets: texts with numbers of the same run."""

from harness import table

from systems import results
from systems.rows import OURS

REACHED = 0.995  # of a target: what the page shows as 1.00


def missed(run):
    """Returns (title of the row, share of the target, reason) of each target that is not reached."""
    rows = {row["name"]: row for row in run["rows"]}
    found = []
    for row in run["rows"]:
        ours = row["values"].get(OURS, {}).get("value")
        if not ours or not row["target"]:
            continue
        share = results.better(row, ours, row["target"])
        if share < REACHED:
            found.append((results.title(row), share, _reason(row, rows, run)))
    return found


def _reason(row, rows, run):
    if row["limit"] and results.better(row, row["limit"], row["target"]) < REACHED:
        limit = table.quantity(row["limit"], row["unit"])
        return f"the limit of this machine, {limit}, is worse than the target."
    return REASONS.get(row["name"], _machine)(rows, run)


def _text(rows, name):
    """Returns graphd's value in a row as text."""
    row = rows[name]
    result = row["values"].get(OURS, {})
    return table.quantity(result["value"], row["unit"]) if "value" in result else "no result"


def _sampling(rows, run):
    return (
        f"the kernel alone, in C++, draws {_text(rows, 'sample_kernel')} for seeds that are spread over "
        f"the graph; a batch also relabels the nodes, which makes about as many random accesses to a "
        f"hash table. Without the ids of edges, which are read on first use, it is "
        f"{_text(rows, 'sample_2_plain')}."
    )


def _sampling_tcp(rows, run):
    return (
        f"an edge takes {_text(rows, 'wire_per_edge')} on the wire, 4 of them its id, and passes two "
        f"sockets. Without the ids of edges it is {_text(rows, 'sample_2_plain_tcp')}. Server and "
        f"trainer share {run['machine']['processors']} processors."
    )


def _wire(rows, run):
    return (
        "4 bytes are the edge's id and 4 the source's; the rest is seeds, degrees and TCP's headers. "
        "Without the ids of edges, which are sent on first use, it is "
        f"{_text(rows, 'wire_plain_per_edge')}."
    )


def _rows(rows, run):
    return (
        "the bare gather reads private memory, and graphd memory that processes share; the pages are "
        f'those under "Pages obtained" below: {run["machine"]["pages_obtained"]}.'
    )


def _remote_rows(rows, run):
    return (
        f"server and trainer share {run['machine']['processors']} processors: the server gathers, and "
        "both ends copy, while the limit sends memory that is ready."
    )


def _cold(rows, run):
    return (
        "the limit is one thread that touches the memory of the whole table, and then applies the "
        f"steps; in warm steps graphd reaches {_text(rows, 'embedding_step')}. Rows also get their "
        "first values, and trainer and server wait for each other in each step."
    )


def _step(rows, run):
    return (
        "the limit applies gradients that are ready, in one thread; a step also sorts and sends them, "
        "and waits until the server has applied them."
    )


def _workers(rows, run):
    return (
        f"two workers and the trainer share {run['machine']['processors']} processors; one worker makes "
        f"{_text(rows, 'loader_1')}."
    )


def _machine(rows, run):
    return (
        f"the machine's load was {run['load_before'][0]:.2f} before the run and "
        f"{run['load_after'][0]:.2f} after it."
    )


REASONS = {
    "sample_2": _sampling,
    "sample_2_tcp": _sampling_tcp,
    "rows_local": _rows,
    "rows_remote": _remote_rows,
    "embedding_step_cold": _cold,
    "embedding_step": _step,
    "loader_1": _workers,
    "loader_2": _workers,
    "epoch": _workers,
    "epoch_tcp": _workers,
    "wire_per_edge": _wire,
}
