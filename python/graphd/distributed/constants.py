# SPDX-License-Identifier: Apache-2.0
"""The names that DGL gives to node and edge types if the user gives none. Matches
``dgl.distributed.constants``."""

DEFAULT_NTYPE = "_N"
DEFAULT_ETYPE = (DEFAULT_NTYPE, "_E", DEFAULT_NTYPE)
