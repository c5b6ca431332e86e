# SPDX-License-Identifier: Apache-2.0
"""Makes the graph that all systems are measured on.

    python3 -m systems.graph FOLDER SCALE

It is an R-MAT graph (a .57, b .19, c .19) with the numbers of ogbn-products times SCALE: 2,449,029
nodes, 123,718,280 directed edges, 100 floats per node, 47 classes, 8 % of the nodes for training. The
same scale gives the same bytes. Files in FOLDER:

    edges.npy      int64 [2, edges], sources and destinations, in random order
    indptr.npy     int64 [nodes + 1], and
    indices.npy    int64 [edges], the same edges as in-edges of each node (CSC)
    feat.npy       float32 [nodes, 100]
    label.npy      int64 [nodes], the class, which the features determine up to noise
    train_idx.npy  int64, sorted
"""

import json
import os
import sys

import numpy as np

NODES, EDGES, TRAINING = 2449029, 123718280, 196615
COLUMNS, CLASSES = 100, 47
# Shares of the quadrants of the adjacency matrix, in 65536ths: a, a + b, a + b + c.
QUADRANTS = tuple(round(65536 * share) for share in (0.57, 0.76, 0.95))
CHUNK = 1 << 20


def shape(scale):
    """Returns the numbers of nodes, edges and training nodes."""
    return (
        max(2000, round(NODES * scale)),
        max(20000, round(EDGES * scale)),
        max(200, round(TRAINING * scale)),
    )


def ends(draw, count, levels):
    """Draws the sources and destinations of edges among 2 ** levels nodes."""
    source = np.zeros(count, np.int64)
    target = np.zeros(count, np.int64)
    a, ab, abc = QUADRANTS
    for _ in range(levels):
        quadrant = draw.integers(0, 65536, count, dtype=np.uint16)
        source <<= 1
        source |= quadrant >= ab
        target <<= 1
        target |= ((quadrant >= a) & (quadrant < ab)) | (quadrant >= abc)
    return source, target


def make(folder, scale):
    """Writes the files, unless they are there."""
    done = os.path.join(folder, "graph.json")
    if os.path.exists(done):
        return
    os.makedirs(folder, exist_ok=True)
    nodes, edges, training = shape(scale)
    draw = np.random.Generator(np.random.SFC64(1))
    levels = int(np.ceil(np.log2(nodes)))
    # Scatters the ids, because those of R-MAT are nearly in the order of the degrees.
    new_id = draw.permutation(nodes)
    both = np.lib.format.open_memmap(os.path.join(folder, "edges.npy"), "w+", np.int64, (2, edges))
    keys = np.empty(edges, np.int64)
    for begin in range(0, edges, CHUNK):
        count = min(CHUNK, edges - begin)
        source, target = (new_id[(each * nodes) >> levels] for each in ends(draw, count, levels))
        both[0, begin : begin + count] = source
        both[1, begin : begin + count] = target
        keys[begin : begin + count] = (target << 32) | source
    both.flush()
    del both
    keys.sort()
    degrees = np.bincount(keys >> 32, minlength=nodes)
    save(folder, "indptr", np.concatenate([[0], np.cumsum(degrees)]))
    save(folder, "indices", keys & 0xFFFFFFFF)
    del keys
    feat = draw.standard_normal((nodes, COLUMNS), dtype=np.float32)
    noise = draw.standard_normal((nodes, CLASSES), dtype=np.float32)
    save(folder, "label", (feat[:, :CLASSES] + 0.5 * noise).argmax(1))
    save(folder, "feat", feat)
    save(folder, "train_idx", np.sort(draw.choice(nodes, training, replace=False)))
    with open(done, "w", encoding="utf-8") as file:
        json.dump({"scale": scale, "nodes": nodes, "edges": edges, "training_nodes": training,
                   "columns": COLUMNS, "classes": CLASSES}, file)  # fmt: skip


def save(folder, name, array):
    np.save(os.path.join(folder, name + ".npy"), array)


if __name__ == "__main__":
    make(sys.argv[1], float(sys.argv[2]))
