#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes all rows of tensors that outlive their job, or checks that they have what was written."""

import argparse

import numpy

import graphd
from graphd.distributed import DistGraph, DistTensor


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server_name", required=True)
    parser.add_argument("--ip_config", required=True)
    parser.add_argument("--bytes", type=int, required=True, help="the size of each tensor")
    parser.add_argument("--tensors", type=int, required=True, help="their number")
    parser.add_argument("--first", type=float, required=True, help="what row 0 consists of")
    parser.add_argument("--check", action="store_true", help="check them")
    args = parser.parse_args()
    graphd.distributed.initialize(args.ip_config, server_name=args.server_name)
    graph = DistGraph()
    rows = graph.num_nodes()
    columns = args.bytes // 4 // rows
    everything = numpy.arange(rows)
    for i in range(args.tensors):
        tensor = DistTensor((rows, columns), "float32", f"changed{i}", persistent=True)
        wanted = numpy.repeat(args.first + i + everything, columns).reshape(rows, columns)
        if not args.check:
            tensor[everything] = wanted.astype("float32")
        elif not (numpy.asarray(tensor[everything]) == wanted).all():
            raise SystemExit(f"tensor {i} is not what was written")


if __name__ == "__main__":
    main()
