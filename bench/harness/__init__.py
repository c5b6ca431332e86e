# SPDX-License-Identifier: Apache-2.0
"""The common part of bench/run, bench/guard, bench/compare and bench/scaling. It needs the standard
library alone."""
