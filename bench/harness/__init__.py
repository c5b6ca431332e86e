# SPDX-License-Identifier: Apache-2.0
"""The common part of bench/run, bench/guard and bench/compare. It needs the standard library alone."""
