#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a graph of few edges whose features take much memory: an input of graphctl partition whose
file of features has holes, so that it is written at once."""
import argparse
import json
import os

COLUMNS = 512


def write_wide_graph(folder, feature_bytes):
    """Writes it into a folder, and returns the path of its description."""
    nodes = feature_bytes // (4 * COLUMNS)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({nodes}, {COLUMNS}), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(os.path.join(folder, "wide.npy"), "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        out.truncate(out.tell() + feature_bytes)
    with open(os.path.join(folder, "edges.txt"), "w") as out:
        out.writelines(f"{i} {i + 1}\n" for i in range(1000))
    text = {"format": {"name": "csv", "delimiter": " "}, "data": ["edges.txt"]}
    wide = {"format": {"name": "numpy"}, "data": ["wide.npy"]}
    path = os.path.join(folder, "metadata.json")
    with open(path, "w") as out:
        json.dump({"graph_name": "wide", "node_type": ["n"], "num_nodes_per_chunk": [[nodes]],
                   "edge_type": ["n:e:n"], "num_edges_per_chunk": [[1000]],
                   "edges": {"n:e:n": text}, "node_data": {"n": {"wide": wide}},
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
