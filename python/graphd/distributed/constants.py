# SPDX-License-Identifier: Apache-2.0
"""The names of types that DGL takes where none is given. Matches ``dgl.distributed.constants``."""

DEFAULT_NTYPE = "_N"
DEFAULT_ETYPE = (DEFAULT_NTYPE, "_E", DEFAULT_NTYPE)
