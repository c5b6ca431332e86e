# SPDX-License-Identifier: Apache-2.0
"""Makes the graph that the service times are measured on, and its partitions.

A node belongs to one of twelve communities, and an edge leads to another community with a probability
that is given, so that a partition of whole communities has a small cut and a random one a large cut.
Sources are skewed: the likelihood of the i-th node of a community falls with the square root of i.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
from typing import Any

import numpy as np

COMMUNITIES = 12  # a multiple of 1, 2, 3 and 4 parts
WIDTHS = {"f16": 16, "f64": 64, "f256": 256}  # features of float32
NAME = "scaling"
SHAPE = "shape.json"  # the file that says what a folder has
METHODS = ("random", "communities")
Ids = Any  # an array of int64
partitioned: set[tuple[str, str]] = set()  # part configs that this process made, by which graphctl


def make(folder: str, nodes: int, degree: int, outside: float) -> None:
    """Writes the edges and features, unless the same are there."""
    shape = {"nodes": nodes, "degree": degree, "outside": outside, **source()}
    done = os.path.join(folder, SHAPE)
    with contextlib.suppress(OSError, ValueError), open(done, encoding="utf-8") as file:
        if json.load(file) == shape:
            return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    draw = np.random.default_rng(1)
    target = np.repeat(np.arange(nodes), degree)
    community = target % COMMUNITIES
    away = draw.random(len(target)) < outside
    shift = draw.integers(1, COMMUNITIES, len(target))
    community = np.where(away, (community + shift) % COMMUNITIES, community)
    size = nodes // COMMUNITIES
    rank = (size * draw.random(len(target)) ** 2).astype(np.int64)
    np.save(os.path.join(folder, "edges.npy"), np.stack([rank * COMMUNITIES + community, target]))
    for name, width in WIDTHS.items():
        values = draw.standard_normal((nodes, width), dtype=np.float32)
        np.save(os.path.join(folder, f"{name}.npy"), values)
    # An interrupted run leaves no such file, or half of one.
    with open(done, "w", encoding="utf-8") as file:
        json.dump(shape, file)


def source() -> dict[str, str]:
    """Returns what decides about the graph beside its parameters: this file, and NumPy, whose random
    numbers may change with its version."""
    with open(__file__, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return {"source": digest, "numpy": np.__version__}


def nodes(folder: str) -> int:
    """Returns the number of nodes of the graph in a folder."""
    with open(os.path.join(folder, SHAPE), encoding="utf-8") as file:
        return int(json.load(file)["nodes"])


def assignment(count: int, parts: int, method: str) -> Ids:
    """Returns the partition of each node."""
    if method == "random":
        return np.random.default_rng(2).integers(0, parts, count)
    return np.arange(count) % COMMUNITIES * parts // COMMUNITIES


def partition(folder: str, graphctl: str, parts: int, method: str) -> tuple[str, float]:
    """Partitions the graph, unless this process has done so: partitions of earlier processes may have
    been made by another build of `graphctl`, in another format. Returns the part config and the share
    of its edges that join two partitions."""
    output = os.path.join(folder, f"{method}-{parts}")
    config = os.path.join(output, f"{NAME}.json")
    edges = np.load(os.path.join(folder, "edges.npy"), mmap_mode="r")
    owner = assignment(nodes(folder), parts, method)
    cut = float((owner[edges[0]] != owner[edges[1]]).mean())
    if (config, graphctl) not in partitioned:
        owners = os.path.join(folder, f"{method}-{parts}.npy")
        np.save(owners, owner)
        command = [
            *(graphctl, "partition", "--input", os.path.join(folder, "edges.npy")),
            *("--num_nodes", str(len(owner)), "--graph_name", NAME, "--num_parts", str(parts)),
            *("--part_method", "file", "--assignment", owners, "--output", output),
        ]
        for name in WIDTHS:
            command += ["--nodes", f".{name}={os.path.join(folder, name + '.npy')}"]
        done = subprocess.run([*command, "--force"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"graphctl partition failed: {done.stderr.strip()[-800:]}")
        partitioned.add((config, graphctl))
    return config, cut
