# SPDX-License-Identifier: Apache-2.0
"""Keys under which blocks and subgraphs tell ids of the large graph. DGL's, by value too."""

NID = "_ID"
EID = "_ID"
ALL = "__ALL__"  # every node, where ids are asked for
