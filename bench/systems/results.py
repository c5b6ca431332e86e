# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison: a dict that is written as JSON, and its rows as text for tables."""

from harness import table
from harness.paths import ROOT

from systems.rows import OURS, ROWS, SHARE, SYSTEMS, absent


def value(results, system, name):
    """Returns a value, or None."""
    return results.get(system, {}).get(name, {}).get("value")


def fill(results, systems, missing=None):
    """Adds what is missing, so that every system has a value, an error or a reason in every row.
    `missing` is the result where a value should have been measured but was not."""
    for system in systems:
        known = results.setdefault(system, {})
        for row in ROWS:
            if row.name not in known:
                reason = absent(row.name, system)
                known[row.name] = (
                    {"absent": reason} if reason else missing or {"error": "no result"}
                )


def derived_limits(limits, results):
    """Returns the limits, with those that follow from graphd's own measurements."""
    found = dict(limits)
    found["compute"] = value(results, OURS, "epoch_compute")
    found["compute_tcp"] = value(results, OURS, "epoch_compute_tcp")
    # The loader's batches lack the ids of edges until they are read.
    sampling, rows = value(results, OURS, "sample_2_plain"), value(results, OURS, "rows_local")
    edges = value(results, OURS, "sample_2_plain_edges_of_batch")
    nodes = value(results, OURS, "sample_2_plain_rows_of_batch")
    if sampling and rows and edges and nodes:
        found["kernels"] = 1 / (edges / sampling + nodes / rows)
    one = value(results, OURS, "loader_1")
    found["kernels_2"] = 2 * one if one else None
    touch, step, cold = limits.get("touch"), limits.get("step"), limits.get("cold_rows")
    if touch and step and cold:
        found["step_cold"] = cold / (touch + cold / step)
    for name in ("sample_2", "sample_3", "sample_kernel"):
        lines, edges = limits.get("lines"), limits.get(name + "_per_line")
        found[name] = lines * edges if lines and edges else None
    for suffix in ("", "_tcp"):
        found["later_batches" + suffix] = value(results, OURS, "later_batches" + suffix)
        batch, trip = value(results, OURS, "attach_later" + suffix), limits.get("trip" + suffix)
        found["attach" + suffix] = batch + 2 * trip if batch and trip else None
    return found


def made(results, limits, systems, **facts):
    """Returns the result: facts (the machine, the command, ...), the rows with a value, an error or a
    reason for each system, and what explains graphd's values: the limits, and graphd's other results as
    parts."""
    limits = derived_limits(limits, results)
    rows = []
    for row in ROWS:
        limit = limits.get(row.limit) if isinstance(row.limit, str) else row.limit
        target = row.target_in(limits)
        rows.append({"name": row.name, "subject": row.subject, "detail": row.detail, "unit": row.unit,
                     "more_is_better": row.more_is_better, "limit": limit,
                     "limit_title": row.limit_title, "target": target, "nominal": row.target,
                     "nominal_is": row.nominal_is,
                     "values": {system: results[system][row.name] for system in systems}})  # fmt: skip
    tidied(rows)
    names = {row.name for row in ROWS}
    parts = {name: rounded(found["value"]) for name, found in results.get(OURS, {}).items()
             if name not in names and "value" in found}  # fmt: skip
    limits = {name: rounded(limit) for name, limit in sorted(limits.items()) if limit is not None}
    return {**facts, "systems": [name for name in SYSTEMS if name in systems], "rows": rows,
            "limits": limits, "parts": parts}  # fmt: skip


def rounded(value):
    return float(f"{value:.5g}")


def tidied(rows):
    """Rounds all numbers to five digits, and removes the place of the repository from errors."""
    for row in rows:
        for key in ("limit", "target"):
            if row[key] is not None:
                row[key] = rounded(row[key])
        for result in row["values"].values():
            if "value" in result:
                result["value"] = rounded(result["value"])
            if "error" in result:
                result["error"] = result["error"].replace(ROOT + "/", "")


def better(row, a, b):
    """Returns how many times as good a is as b."""
    return a / b if row["more_is_better"] else b / a


def best_peer(row):
    """Returns the name and the value of the best of the other systems, or None."""
    peers = {name: result["value"] for name, result in row["values"].items()
             if name != OURS and result.get("value")}  # fmt: skip
    if not peers:
        return None
    return (max if row["more_is_better"] else min)(peers.items(), key=lambda each: each[1])


def cell(row, result):
    """Returns a value as text; "failed" for an error and "-" where there is no value by nature."""
    if "value" in result:
        return table.quantity(result["value"], row["unit"])
    return "failed" if "error" in result else "-"


def ratios(row):
    """Returns the ratio to the best peer, to the limit and to the target as text."""
    ours = row["values"].get(OURS, {}).get("value")
    if not ours:
        return "", "", ""
    peer = best_peer(row)
    of_peer = f"{table.plain(better(row, ours, peer[1]))}x" if peer else ""
    of_limit = f"{better(row, ours, row['limit']):.2f}" if row["limit"] else ""
    return of_peer, of_limit, f"{better(row, ours, row['target']):.2f}" if row["target"] else ""


def nominal(row):
    """Returns the target as it was set, as text."""
    if row["nominal"] is None:
        return ""
    if row["nominal_is"] == SHARE:
        return f"{row['nominal']:g} x the limit"
    return table.quantity(row["nominal"], row["unit"])


def headings(run):
    return ["measurement", "limit", *run["systems"], "to the best peer", "of the limit",
            "nominal target", "target here", "of the target here"]  # fmt: skip


def table_rows(run):
    """Returns the cells of all rows. A subject is named once."""
    found, before = [], None
    for row in run["rows"]:
        first = f"... {row['detail']}" if row["subject"] == before else title(row)
        found.append([first, *cells(run, row)])
        before = row["subject"]
    return found


def cells(run, row):
    """Returns the cells of a row in the order of headings(), after the first."""
    limit = table.quantity(row["limit"], row["unit"]) if row["limit"] else ""
    target = table.quantity(row["target"], row["unit"]) if row["target"] else ""
    of_peer, of_limit, of_target = ratios(row)
    return [limit, *(cell(row, row["values"][name]) for name in run["systems"]), of_peer,
            of_limit, nominal(row), target, of_target]  # fmt: skip


def title(row):
    """Returns what a row measures."""
    return f"{row['subject']}: {row['detail']}"


def failures(run):
    """Yields (kind, row, system, text) of each error and then of each reason for an absent value."""
    for kind in ("error", "absent"):
        for row in run["rows"]:
            for system, result in row["values"].items():
                if kind in result:
                    yield kind, title(row), system, result[kind]
