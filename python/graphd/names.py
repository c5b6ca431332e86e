# SPDX-License-Identifier: Apache-2.0
"""Keys of blocks and subgraphs for the ids of the original graph. The values are those of DGL."""

NID = "_ID"
EID = "_ID"
ALL = "__ALL__"  # stands for every node where ids are expected
