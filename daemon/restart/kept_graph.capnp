# SPDX-License-Identifier: Apache-2.0
# The manifest of the graph that the service manager keeps for the next process of a daemon. A header
# with its checksum precedes it (kept_graph.cc).
#
# Compatibility: `version` is raised when a field or an array of a segment changes its meaning. A
# daemon with another version loads the graph from its files.
@0xd6a1b7d5c02f4e93;
using Cxx = import "/capnp/c++.capnp";
using Wire = import "/wire/graphd.capnp";
$Cxx.namespace("graphd::kept");

const keptVersion :UInt32 = 4;

struct File {
  path @0 :Text;
  device @1 :UInt64;
  inode @2 :UInt64;
  bytes @3 :UInt64;
  modified @4 :Int64;      # nanoseconds since 1970
}

struct Segment {
  descriptor @0 :Text;     # its name in the service manager's store
  layout @1 :Wire.SegmentInfo;
  checksum @2 :UInt64;     # XXH3-64 of the first 4096 bytes of each array, in the layout's order
}

struct Index {
  index @0 :Wire.EdgeIndex;
  segment @1 :Segment;
}

struct Partition {
  part @0 :Int32;
  segments @1 :List(Segment);
  indexes @2 :List(Index);
}

struct Graph {
  version @0 :UInt32;
  partConfig @1 :Text;
  files @2 :List(File);    # all files that the graph was loaded from
  graph @3 :Wire.Graph;
  partitions @4 :List(Partition);
  nodeOwners @5 :Segment;  # set if the partition book is too large for `graph`
  edgeOwners @6 :Segment;
}
