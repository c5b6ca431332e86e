#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a graph of few edges whose features take much memory: an input of graphctl partition whose
files have holes, so that it is written at once. Trainers can learn the labels of the nodes that have
edges, which are spread over all ids."""
import argparse
import array
import json
import os
import random

COLUMNS = 512
NOISY_COLUMNS = 16  # the others are 0
LEARNT = 400  # nodes that have edges and labels
CLASSES, DEGREE = 4, 8


def write_npy(path, dtype, shape, rows):
    """Writes an array that is 0 but for the beginnings of some rows, given by number."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    row_bytes = int(dtype[2:])
    for extent in shape[1:]:
        row_bytes *= extent
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        begin = out.tell()
        out.truncate(begin + shape[0] * row_bytes)
        for row, values in rows.items():
            out.seek(begin + row * row_bytes)
            out.write(values)


def write_wide_graph(folder, feature_bytes):
    """Writes it into a folder, and returns the path of its description."""
    nodes = feature_bytes // (4 * COLUMNS)
    draw = random.Random(0)
    learnt = [i * (nodes // LEARNT) for i in range(LEARNT)]
    classes = [draw.randrange(CLASSES) for _ in learnt]
    members = [[n for n, c in zip(learnt, classes) if c == each] for each in range(CLASSES)]

    def noisy(label):
        return array.array("f", [draw.gauss(float(i == label), 1) for i in range(NOISY_COLUMNS)])

    def data(name, dtype, shape, rows):
        write_npy(os.path.join(folder, name + ".npy"), dtype, shape, rows)
        return {"format": {"name": "numpy"}, "data": [name + ".npy"]}

    with open(os.path.join(folder, "edges.txt"), "w") as out:
        for node, label in zip(learnt, classes):
            for _ in range(DEGREE):
                out.write(f"{draw.choice(members[label] if draw.random() < 0.9 else learnt)} {node}\n")
    feat = dict(zip(learnt, map(noisy, classes)))
    label = {node: each.to_bytes(8, "little") for node, each in zip(learnt, classes)}
    order = draw.sample(learnt, LEARNT)
    masks = {"train_mask": order[:LEARNT // 2], "val_mask": order[LEARNT // 2:LEARNT * 3 // 4],
             "test_mask": order[LEARNT * 3 // 4:]}
    node_data = {"feat": data("feat", "<f4", (nodes, COLUMNS), feat),
                 "label": data("label", "<i8", (nodes,), label)}
    for name, chosen in masks.items():
        node_data[name] = data(name, "|b1", (nodes,), dict.fromkeys(chosen, b"\1"))
    edges = {"format": {"name": "csv", "delimiter": " "}, "data": ["edges.txt"]}
    path = os.path.join(folder, "metadata.json")
    with open(path, "w") as out:
        json.dump({"graph_name": "wide", "node_type": ["n"], "num_nodes_per_chunk": [[nodes]],
                   "edge_type": ["n:e:n"], "num_edges_per_chunk": [[LEARNT * DEGREE]],
                   "edges": {"n:e:n": edges}, "node_data": {"n": node_data},
                   "edge_data": {}}, out)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", help="an empty folder")
    parser.add_argument("bytes", type=int)
    args = parser.parse_args()
    print(write_wide_graph(args.output, args.bytes))


if __name__ == "__main__":
    main()
