# SPDX-License-Identifier: Apache-2.0
"""Outputs of a model for all nodes of a graph, and functions that use them.

`layerwise` computes them, `evaluate` compares them with labels, `predict_edges` scores pairs of
nodes with them, and `export` writes them to a file.
"""

from .evaluation import evaluate, predict_edges
from .files import export
from .full_graph import layerwise

__all__ = ["evaluate", "export", "layerwise", "predict_edges"]
