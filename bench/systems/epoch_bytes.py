# SPDX-License-Identifier: Apache-2.0
"""The bytes that an epoch moves over the network: a part of docs/performance.md, which
`bench/run row_cache --write_docs` measures."""

import os
import re
import sys

from harness import table
from harness.paths import ROOT

DATA = os.path.join(ROOT, "docs", "epoch_bytes.json")
COMMAND = "bench/run row_cache --filter 'BM_Epoch/percent:(0|10|25)/kept:0' --quick --write_docs"
# Bytes of a number as it is stored, and the size of the cache in percent of the feature's bytes.
CASES = [(stored, percent) for stored in (4, 2) for percent in (0, 10, 25)]
STORED = {4: "float32", 2: "float16"}
CACHES = {0: "none", 10: "a tenth of the feature", 25: "a quarter of the feature"}
TEXT = f"""
## Bytes of an epoch over the network

A trainer on a machine without a partition reads everything over the network. This is one epoch of it,
with a feature that is stored as it is or in two bytes per number (`graphctl partition --store_as`), and
without and with a row cache (`graphctl launch --row_cache`). The graph is R-MAT, with 1,000,000 nodes,
15,000,000 edges and 100 float32 features per node; 50,000 seeds in batches of 1000 with fanouts [10,10].
Rows are what the feature takes, with the ids that name them; all bytes also have the sampled edges. Each
cache was used for two epochs before.
[Train on machines that have no partition](howto/trainer-hosts.md) explains both.

```sh
{COMMAND}
```
"""


def recorded(run):
    """Returns what the page shows of a run of bench/run. Exits if an epoch was not measured."""
    found = {}
    for line in run["lines"]:
        match = re.match(r"BM_Epoch/percent:(\d+)/kept:0/stored:(\d+)/", line["name"])
        if match and "counters" in line:
            percent, stored = map(int, match.groups())
            found[stored, percent] = line["counters"]
    epochs = []
    for stored, percent in CASES:
        if (stored, percent) not in found:
            sys.exit(
                f"bench/run: --write_docs needs the epoch with features in {stored} bytes and a cache "
                f"of {percent} %, which was not measured; run: {COMMAND}"
            )
        counters = found[stored, percent]
        epochs.append(
            {
                "stored": stored,
                "percent": percent,
                "row_bytes": round(counters["row_MB/epoch"] * 1e6, -4),
                "bytes": round(counters["MB/epoch"] * 1e6, -4),
                "hits": round(counters["hits"], 4),
            }
        )
    return {"commit": run["machine"]["commit"], "epochs": epochs}


def markdown(data):
    """Returns the part of the page."""
    rows, most = [], data["epochs"][0]["bytes"]
    for epoch in data["epochs"]:
        rows.append(
            [
                STORED[epoch["stored"]],
                CACHES[epoch["percent"]],
                f"{epoch['hits']:.0%}" if epoch["percent"] else "",
                table.quantity(epoch["row_bytes"], "B"),
                table.quantity(epoch["bytes"], "B"),
                f"{most / epoch['bytes']:.1f}x",
            ]
        )
    headings = ["stored as", "row cache", "hits", "rows", "all bytes", "less by"]
    return f"{TEXT}\n{table.markdown(headings, rows)}\n\nCommit: {data['commit']}\n"
