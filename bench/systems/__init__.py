# SPDX-License-Identifier: Apache-2.0
"""Measurements of graphd and of other systems for bench/compare: a module per system, each of which
runs as a process of its own in the environment that has the system's packages."""
