# SPDX-License-Identifier: Apache-2.0
"""The pages that show the result of a comparison: a report in HTML, and docs/performance.md."""

import os

from harness import files, machine, page, table
from harness.paths import ROOT, shown

from systems import epoch_bytes, results, targets
from systems.rows import SYSTEMS

PAGE = os.path.join(ROOT, "docs", "performance.md")
DATA = os.path.join(ROOT, "docs", "performance.json")

# The settings of each system, as its own documentation recommends them. A run keeps those that it was
# made with.
SETTINGS = {
    "DGL distributed": "one server per partition with the graph in CSC, and a trainer that reads the "
    "first one's shared memory; DistNodeDataLoader without sampler processes, also in the epoch; "
    "a gloo group of one trainer for the optimiser. Its partitions are written by "
    "`graphctl partition --format dgl`, so that both serve the same partitions. "
    "A trainer attaches once, because the servers end with it.",
    "DGL local": "the graph in CSC only; dgl.dataloading.DataLoader, without CPU affinity; rows by "
    "torch.index_select, which is faster than indexing.",
    "GraphBolt": "FusedCSCSamplingGraph; ItemSampler, sample_neighbor and fetch_feature with a "
    "TorchBasedFeature; gb.DataLoader.",
    "PyG": "NeighborLoader on edges that are sorted by destination (is_sorted), with torch-sparse, "
    "because pyg-lib is not on PyPI.",
    "graphlearn-torch": "the graph in CSC and the features in memory, on the processor, with a later "
    "PyTorch than the other systems', because its wheel needs it.",
    "graphd": "one daemon per partition with default options. The trainer maps its memory, or uses TCP "
    "for all partitions (GRAPHD_TRANSPORT=tcp). What a trainer does first is the median of five "
    "processes.",
}
INTRODUCTION = """\
# Performance

This page shows one run of `bench/compare`, which measures graphd beside other systems on the same
machine, with the same graph, seed nodes, batch sizes and fanouts, and one thread per process. Each
system is measured in processes of its own. The limit of a row is what this machine can do at best:
random reads, copies of memory, plain sockets, files that are read once. It was measured in the same run.
The end of the page has [the bytes of an epoch over the network](#bytes-of-an-epoch-over-the-network), of
another run.
The page is made from [performance.json](performance.json); to measure again:

```sh
{command}
```
"""
READING = """\
For times and bytes, less is better; for rates, more. "To the best peer" says how many times as good
graphd is as the best other system. "Of the limit" and "of the target here" are 1 where they are reached.
Targets are meant for the whole graph. Most apply on every machine as they are, or are a share of the
limit. Those of sampling and of embeddings, which random reads of memory bound, were set on a machine
that makes 60 million of them per second: "target here" is scaled to what this one makes.
"""
LINES = """
A sampler reads the ids of the sources of a node's edges, which lie together: those of 50 edges, of 4
bytes each, in 4 or 5 lines of 64 bytes. Edges that share a line cost one read of memory. So the limit
of sampling counts lines, not edges: one thread reads {lines} random lines per second from an array as
large as the ids of the whole graph, with many reads in flight, and a batch has so many edges per line
that it touches, by the degrees of the graph: {sample_2_per_line} with [10,25] x 1000,
{sample_3_per_line} with [15,10,5] x 1024, and {sample_kernel_per_line} in the kernel's benchmark, where
each node has 50. What a batch needs besides is not part of the limit: where the edges of a node begin,
and the numbers of the nodes in the batch."""
SMALL = """\
**This run used {scale:g} of the graph. Caches hold much of such a graph, and epochs are short, so that
the results are only a rough look.**
"""
BUSY = """\
**The machine's load was {load:.2f} before the run: other programs took part of its processors, so that
times are longer and vary.**
"""


def facts(run):
    """Returns the description of the machine and of the graph."""
    shape = run["graph"]
    graph = (
        f"R-MAT, {shape['nodes']:,} nodes, {shape['edges']:,} directed edges, "
        f"{shape['columns']} float32 features per node, {shape['training_nodes']:,} training nodes"
    )
    packages = ", ".join(f"{name} {version}" for name, version in sorted(run["packages"].items()))
    found = machine.rows(run["machine"], run["load_before"], run["load_after"])
    found += [("Graph", graph), ("Packages", packages)]
    for package, state in sorted(run["optional_packages"].items()):
        if not state.startswith("installed"):
            found.append((f"Not installed: {package}", state))
    return found


def report(run):
    """Returns the report in HTML."""
    rows = results.table_rows(run)
    plots = []
    for row in run["rows"]:
        title = results.title(row)
        entries = [(system, result["value"], results.cell(row, result), SYSTEMS.index(system))
                   for system, result in row["values"].items() if "value" in result]  # fmt: skip
        if entries:
            better = "more is better" if row["more_is_better"] else "less is better"
            plots.append(f"<h3>{page.escaped(title)} ({better})</h3>")
            plots.append(page.bars(title, entries, row["limit"]))
    settings = [(name, run["settings"][name]) for name in run["systems"]]
    missing = [[title, system, text] for _, title, system, text in results.failures(run)]
    return page.page(
        "graphd and other systems", run["command"], facts(run),
        [("Results", page.table(results.headings(run), rows)), ("Plots", "\n".join(plots)),
         ("Without a value", page.table(["measurement", "system", "reason"], missing)),
         ("Settings", page.facts(settings))])  # fmt: skip


def markdown(run):
    """Returns the part of docs/performance.md that compares systems."""
    out = [INTRODUCTION.format(command=run["command"]), "## Results\n", READING]
    if run["scale"] != 1:
        out.append(SMALL.format(scale=run["scale"]))
    if run["load_before"][0] > 0.5:
        out.append(BUSY.format(load=run["load_before"][0]))
    rows = results.table_rows(run)
    out.append(table.markdown(results.headings(run), rows))
    out.append("\nThe limits are:\n")
    limits = [(row["limit_title"], results.title(row)) for row in run["rows"] if row["limit_title"]]
    out += grouped(limits)
    if "sample_2_per_line" in run["limits"]:
        out.append(LINES.format(**{name: table.number(value) for name, value in run["limits"].items()}))
    missed = [f"- **{title}**, {share:.2f} of the target: {reason}"
              for title, share, reason in targets.missed(run)]  # fmt: skip
    if missed:
        out += ["\n## Targets that are not reached\n", *missed]
    out += [
        "\n## The machine\n",
        table.markdown(["property", "value"], facts(run)),
        "\n## Settings\n",
    ]
    out += [f"- **{name}**: {run['settings'][name]}" for name in run["systems"]]
    out += reasons(run, "error", "Failures", "{systems}, `{text}`")
    out += reasons(run, "absent", "Not measured", "{systems}, {text}")
    return "\n".join(out) + "\n"


def performance(comparison, epochs):
    """Returns the text of docs/performance.md, of the data of both commands."""
    return markdown(comparison) + epoch_bytes.markdown(epochs)


def write_comparison(run):
    """Writes docs/performance.md after a run of bench/compare, and its data."""
    files.write_json(DATA, run)
    _write(run, files.load(epoch_bytes.DATA), DATA)


def write_epochs(run):
    """Writes docs/performance.md after a run of bench/run, and its data."""
    epochs = epoch_bytes.recorded(run)
    files.write_json(epoch_bytes.DATA, epochs)
    _write(files.load(DATA), epochs, epoch_bytes.DATA)


def _write(comparison, epochs, data):
    files.write(PAGE, performance(comparison, epochs))
    print(f"wrote {shown(PAGE)} and {shown(data)}")


def reasons(run, kind, heading, form):
    """Returns a section with a line per reason, which names all systems to which it applies."""
    rows = {}
    for of, title, system, text in results.failures(run):
        if of == kind:
            rows.setdefault((system, " ".join(text.split())), []).append(title)
    systems = {}
    for (system, text), titles in rows.items():
        systems.setdefault((text, tuple(titles)), []).append(system)
    lines = [(form.format(systems=", ".join(names), text=text.replace("`", "'")), title)
             for (text, titles), names in systems.items() for title in titles]  # fmt: skip
    return [f"\n## {heading}\n", *grouped(lines)] if lines else []


def grouped(pairs):
    """Returns a line per text, with the titles of the rows that it belongs to."""
    groups = {}
    for text, title in pairs:
        groups.setdefault(text, []).append(title)
    return [f"- {text}: {'; '.join(titles)}" for text, titles in groups.items()]
