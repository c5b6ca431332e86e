# SPDX-License-Identifier: Apache-2.0
"""Partitions the graph with DGL: python3 -m systems.dgl_partition GRAPH_FOLDER OUTPUT."""

import sys

import dgl
import numpy as np
import torch


def main(folder, output):
    edges = torch.from_numpy(np.load(f"{folder}/edges.npy"))
    feat = torch.from_numpy(np.load(f"{folder}/feat.npy"))
    g = dgl.graph((edges[0], edges[1]), num_nodes=len(feat))
    del edges
    g.ndata["feat"] = feat
    g.ndata["label"] = torch.from_numpy(np.load(f"{folder}/label.npy"))
    dgl.distributed.partition_graph(
        g, "products", 2, output, part_method="random", graph_formats="csc"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
