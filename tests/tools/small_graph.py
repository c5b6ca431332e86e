#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small graph in OGB's raw layout: a planted partition, easy to learn.

Nine of ten edges join nodes of the same class; a node's features are its class plus strong
noise. The same arguments give the same bytes.
"""
import argparse
import gzip
import os
import random


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as out:
        out.write("".join(f"{line}\n" for line in lines).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--degree", type=int, default=8, help="in-edges of each node")
    parser.add_argument("--width", type=int, default=16, help="features of each node")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw = random.Random(args.seed)

    labels = [draw.randrange(args.classes) for _ in range(args.nodes)]
    members = [[n for n in range(args.nodes) if labels[n] == c] for c in range(args.classes)]
    edges = []
    for node in range(args.nodes):
        for _ in range(args.degree):
            alike = draw.random() < 0.9
            source = draw.choice(members[labels[node]]) if alike else draw.randrange(args.nodes)
            edges.append(f"{source},{node}")
    features = []
    for node in range(args.nodes):
        row = [draw.gauss(float(i == labels[node]), 1.0) for i in range(args.width)]
        features.append(",".join(f"{x:.4f}" for x in row))
    order = list(range(args.nodes))
    draw.shuffle(order)
    half, most = args.nodes // 2, args.nodes * 3 // 4

    raw = os.path.join(args.output, "raw")
    write(f"{raw}/edge.csv.gz", edges)
    write(f"{raw}/num-node-list.csv.gz", [args.nodes])
    write(f"{raw}/num-edge-list.csv.gz", [len(edges)])
    write(f"{raw}/node-feat.csv.gz", features)
    write(f"{raw}/node-label.csv.gz", labels)
    split = os.path.join(args.output, "split", "random")
    write(f"{split}/train.csv.gz", sorted(order[:half]))
    write(f"{split}/valid.csv.gz", sorted(order[half:most]))
    write(f"{split}/test.csv.gz", sorted(order[most:]))


if __name__ == "__main__":
    main()
