# SPDX-License-Identifier: Apache-2.0
"""The model of bench/scaling: service times, simulated clusters, and hosts to compare them with."""
