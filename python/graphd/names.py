# SPDX-License-Identifier: Apache-2.0
"""Names that DGL and PyG gave to data. NID and EID are the keys in blocks and subgraphs for the ids
in the original graph. NTYPE and ETYPE are the keys in DGL's graphs without types for the numbers of
the types."""

NID = "_ID"
EID = "_ID"
NTYPE = "_TYPE"
ETYPE = "_TYPE"
ALL = "__ALL__"  # stands for every node where ids are expected

# Features under the names that PyG's models and examples use.
PYG_NAMES = {"feat": "x", "label": "y"}
PYG_EDGE_NAMES = {"feat": "edge_attr"}
