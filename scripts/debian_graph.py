#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a node-classification data set from Debian's own packages.

Nodes are packages, edges are their dependencies on existing packages, features are the hashed
words of the description, and the label is the section. The output has OGB's raw layout, which
`graphctl partition` reads; give it --add_reverse, because edges lead only from a package to its
dependencies.

With --hetero, maintainers and source packages are also nodes, without features, and the edge types
are package:depends:package, package:recommends:package, package:suggests:package,
package:maintained_by:maintainer and package:built_from:source. Each of them has a reverse type
(rev_depends and so on), so --add_reverse is not needed. The layout is OGB's heterogeneous one.

The same package lists give the same bytes.
"""

import argparse
import contextlib
import gzip
import hashlib
import math
import os
import re
import subprocess
import sys
import time
import zlib

# The fields that define the edges between packages, by edge type.
RELATIONS = {
    "depends": ("Pre-Depends", "Depends"),
    "recommends": ("Recommends",),
    "suggests": ("Suggests",),
}
EVERY_RELATION = sum(RELATIONS.values(), ())
OTHER_FIELDS = ("Package", "Section", "Description", "Maintainer", "Source")
FIELDS = {name.encode(): name for name in EVERY_RELATION + OTHER_FIELDS}
WORD = re.compile(r"[a-z0-9][a-z0-9+]+")
# Without its package lists, apt knows only installed packages, which would give a different graph;
# Debian has over 60,000.
FEWEST = 20000
# A package's name at the beginning of an alternative: "libc6:any (>= 2.34)" -> "libc6".
TARGET = re.compile(r"[^\s:(\[<]+")


def stanzas(stream):
    """Yields a dict of the required fields for each paragraph of a Packages file."""
    fields, current = {}, None
    for line in stream:
        if line == b"\n":
            if fields:
                yield fields
            fields, current = {}, None
        elif line[:1] in b" \t":
            if current:
                fields[current] += " " + line.decode("utf-8", "replace").strip()
        else:
            name, _, value = line.partition(b":")
            current = FIELDS.get(name)
            if current:
                fields[current] = value.decode("utf-8", "replace").strip()
    if fields:
        yield fields


def read_packages(source):
    """Returns the first stanza of each package by name, in the order of appearance."""
    packages = {}
    with contextlib.ExitStack() as stack:
        if source:
            stream = stack.enter_context(open(source, "rb"))
        else:
            process = subprocess.Popen(["apt-cache", "dumpavail"], stdout=subprocess.PIPE)
            stream = stack.enter_context(process.stdout)
        for stanza in stanzas(stream):
            if "Package" in stanza:
                packages.setdefault(stanza["Package"], stanza)
    if not source and process.wait() != 0:
        sys.exit(f"debian_graph.py: `apt-cache dumpavail` failed with status {process.returncode}")
    if not source and len(packages) < FEWEST:
        sys.exit(
            "debian_graph.py: apt knows only %d packages, which is not all of Debian; run "
            "`apt-get update` first" % len(packages)
        )
    if not packages:
        sys.exit("debian_graph.py: %s names no packages" % source)
    return packages


def dependencies(stanza, ids, relations):
    """Returns the ids of the packages that a stanza's fields mention, each once, without itself."""
    found = {}
    for relation in relations:
        for clause in stanza.get(relation, "").split(","):
            for alternative in clause.split("|"):
                match = TARGET.search(alternative)
                target = ids.get(match.group()) if match else None
                if target is not None:
                    found[target] = None
    found.pop(ids[stanza["Package"]], None)
    return list(found)


def features(text, size):
    """Returns one line of numbers: signed counts of hashed words, scaled to length 1."""
    values = {}
    for word in WORD.findall(text.lower()):
        code = zlib.crc32(word.encode())
        at = code % size
        values[at] = values.get(at, 0) + (1 if code & 0x80000000 else -1)
    norm = math.sqrt(sum(value * value for value in values.values())) or 1.0
    row = ["0"] * size
    for at, value in values.items():
        row[at] = "%.6g" % (value / norm)
    return ",".join(row) + "\n"


def split_of(name):
    """Returns train, valid or test: 50, 25 and 25 % by a hash of the name."""
    return ("train", "train", "valid", "test")[hashlib.sha256(name.encode()).digest()[0] % 4]


class Writer:
    """Writes .csv.gz files below a directory, without time stamps: equal data gives equal files."""

    def __init__(self, directory):
        self.directory = directory

    def write(self, name, lines):
        path = os.path.join(self.directory, name + ".csv.gz")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with (
            open(path + ".tmp", "wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0) as packed,
        ):
            batch, size = [], 0
            for line in lines:
                batch.append(line)
                size += len(line)
                if size > 1 << 20:
                    packed.write("".join(batch).encode())
                    batch, size = [], 0
            packed.write("".join(batch).encode())
        os.replace(path + ".tmp", path)


def maintainer_of(stanza):
    """Returns the maintainer's address, because names have several spellings."""
    text = stanza.get("Maintainer", "unknown")
    return text.rpartition("<")[2].rstrip("> ").lower() or "unknown"


def source_of(stanza):
    """Returns the source package, without the version that follows if it differs."""
    return stanza.get("Source", stanza["Package"]).partition(" ")[0]


def number(names):
    """Numbers names in order of first appearance: {name: id}."""
    ids = {}
    for name in names:
        ids.setdefault(name, len(ids))
    return ids


def write_packages(out, packages, ids, feat_size, say, below=""):
    """Writes features, labels, split and names of packages; `below`: the folder of their type."""
    feat, label = ("node-feat/" + below, "node-label/" + below) if below else ("", "")
    out.write(
        "raw/" + feat + "node-feat",
        (features(stanza.get("Description", ""), feat_size) for stanza in packages.values()),
    )
    say("%d features of each package" % feat_size)

    sections = [stanza.get("Section", "unknown").rpartition("/")[2] for stanza in packages.values()]
    names = sorted(set(sections))
    classes = {name: i for i, name in enumerate(names)}
    out.write("raw/" + label + "node-label", ("%d\n" % classes[section] for section in sections))
    parts = {"train": [], "valid": [], "test": []}
    for name, i in ids.items():
        parts[split_of(name)].append("%d\n" % i)
    for part, lines in parts.items():
        out.write("split/hash/" + below + part, lines)
    out.write("mapping/nodeidx2package", ("%d,%s\n" % (i, name) for name, i in ids.items()))
    out.write("mapping/labelidx2section", ("%d,%s\n" % (i, name) for i, name in enumerate(names)))
    say(
        "%d classes; %d packages to train on, %d to validate, %d to test"
        % (len(names), len(parts["train"]), len(parts["valid"]), len(parts["test"]))
    )


def write_homogeneous(out, packages, ids, feat_size, say):
    num_edges = 0

    def edges():
        nonlocal num_edges
        for name, stanza in packages.items():
            for target in dependencies(stanza, ids, EVERY_RELATION):
                num_edges += 1
                yield "%d,%d\n" % (ids[name], target)

    out.write("raw/edge", edges())
    out.write("raw/num-node-list", ["%d\n" % len(ids)])
    out.write("raw/num-edge-list", ["%d\n" % num_edges])
    say("%d dependencies" % num_edges)
    write_packages(out, packages, ids, feat_size, say)


def write_hetero(out, packages, ids, feat_size, say):
    maintainers = number(map(maintainer_of, packages.values()))
    sources = number(map(source_of, packages.values()))
    say("%d maintainers, %d source packages" % (len(maintainers), len(sources)))

    edges = {
        ("package", relation, "package"): [
            (i, target)
            for i, stanza in enumerate(packages.values())
            for target in dependencies(stanza, ids, fields)
        ]
        for relation, fields in RELATIONS.items()
    }
    edges["package", "maintained_by", "maintainer"] = [
        (i, maintainers[maintainer_of(stanza)]) for i, stanza in enumerate(packages.values())
    ]
    edges["package", "built_from", "source"] = [
        (i, sources[source_of(stanza)]) for i, stanza in enumerate(packages.values())
    ]
    for (src, relation, dst), pairs in list(edges.items()):
        edges[dst, "rev_" + relation, src] = [(d, s) for s, d in pairs]

    counts = {"package": len(ids), "maintainer": len(maintainers), "source": len(sources)}

    def per_type(values):
        return [",".join(counts) + "\n", ",".join(map(str, values)) + "\n"]

    out.write("raw/num-node-dict", per_type(counts.values()))
    out.write("raw/triplet-list", (",".join(triplet) + "\n" for triplet in edges))
    for triplet, pairs in edges.items():
        folder = "raw/relations/" + "___".join(triplet)
        out.write(folder + "/num-edge-list", ["%d\n" % len(pairs)])
        out.write(folder + "/edge", ("%d,%d\n" % pair for pair in pairs))
    say(
        ", ".join(
            "%d %s" % (len(pairs), relation)
            for (_, relation, _), pairs in edges.items()
            if not relation.startswith("rev_")
        )
    )

    only_packages = per_type(name == "package" for name in counts)
    for name in (
        "raw/nodetype-has-feat",
        "raw/nodetype-has-label",
        "split/hash/nodetype-has-split",
    ):
        out.write(name, only_packages)
    write_packages(out, packages, ids, feat_size, say, "package/")
    for name, numbers in (("maintainer", maintainers), ("source", sources)):
        out.write("mapping/nodeidx2" + name, ("%d,%s\n" % (i, key) for key, i in numbers.items()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", required=True, help="directory to write")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a Packages file to read instead of `apt-cache dumpavail`",
    )
    parser.add_argument("--feat_size", type=int, default=128, help="length of the features")
    parser.add_argument(
        "--hetero",
        action="store_true",
        help="packages, maintainers and sources as nodes, ten edge types",
    )
    args = parser.parse_args()
    start = time.monotonic()

    def say(text):
        print("%5.1f s  %s" % (time.monotonic() - start, text), file=sys.stderr, flush=True)

    say("reading " + (args.source or "`apt-cache dumpavail`"))
    packages = read_packages(args.source)
    ids = {name: i for i, name in enumerate(packages)}
    say("%d packages" % len(ids))
    out = Writer(args.output)
    write = write_hetero if args.hetero else write_homogeneous
    write(out, packages, ids, args.feat_size, say)


if __name__ == "__main__":
    main()
