# SPDX-License-Identifier: Apache-2.0
"""Partitioning on Spark, for graphs that are too large for one machine.

>>> import graphd.spark                                                       # doctest: +SKIP
>>> graphd.spark.partition_graph(                                             # doctest: +SKIP
...     spark.read.parquet("nodes"), spark.read.parquet("edges"), "papers", 64, "/shared/papers")

The partitions are those of ``graphctl partition``, byte for byte. docs/howto/spark.md says how to
size a cluster. Needs PySpark 3.5 or newer, pandas, and pyarrow 14 or newer; the machines of Spark
need this package, too, and a directory that all of them share.
"""

from .partition import partition_graph

__all__ = ["partition_graph"]
