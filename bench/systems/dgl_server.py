# SPDX-License-Identifier: Apache-2.0
"""A server of DGL, which takes all settings from its environment, and a function that trainers name."""

import os

import dgl
import torch


def uniform(shape, dtype):
    """Returns the first values of an embedding. Servers get the name of this function by pickle."""
    return torch.empty(shape, dtype=dtype).uniform_(-1, 1)


if __name__ == "__main__":
    dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])
