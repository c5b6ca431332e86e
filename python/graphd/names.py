# SPDX-License-Identifier: Apache-2.0
"""Names that DGL and PyG gave to data. The first two are keys of blocks and subgraphs for the ids of
the original graph."""

NID = "_ID"
EID = "_ID"
ALL = "__ALL__"  # stands for every node where ids are expected

# Features under the names that PyG's models and examples use.
PYG_NAMES = {"feat": "x", "label": "y"}
