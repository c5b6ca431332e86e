# SPDX-License-Identifier: Apache-2.0
# The interface by which operators control a running graphd; Daemon.control returns it.
@0xd2a54c6e1b7f9083;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("graphd::wire");

# The reason why a daemon takes no new jobs.
struct Drained {
  by @0 :Text;             # the operator who has asked for it
  reason @1 :Text;         # given by that operator; may be empty
  seconds @2 :Float64;     # since the operator has asked
}

# An option whose value in the configuration differs from the value with which the daemon runs.
struct ChangedOption {
  key @0 :Text;
  before @1 :Text;         # the value with which the daemon runs
  after @2 :Text;          # the value of the file or the command line
  needsRestart @3 :Bool;   # false: the new value is in use
  place @4 :Text;          # FILE:LINE that sets it; empty if nothing does
}

# A request that is not answered yet.
struct RequestStatus {
  operation @0 :Text;      # such as "hop"
  state @1 :Text;          # "runs", or the thing that it waits for
  seconds @2 :Float64;     # since it arrived
  jobId @3 :Text;
  rank @4 :Int32;          # the trainer's; -1: the job's launcher
  pid @5 :Int64;           # 0 for TCP connections
  peer @6 :Text;           # "unix" or the address
}

# Describes an array of the graph in the memory of a daemon.
struct ArrayMemory {
  part @0 :Int32;
  segment @1 :Text;        # "graph", "node_feat", "edge_feat" or "index"
  type @2 :Text;           # the type of the nodes or edges to which it belongs
  name @3 :Text;           # such as "indptr", or the name of a feature
  dtype @4 :Text;          # the type in which the elements are stored
  shape @5 :List(Int64);
  bytes @6 :UInt64;
  pages @7 :Text;          # the kind of pages that its segment is on; empty: not determined
  fingerprint @8 :Text;    # the version of the graph that it belongs to
}

# Describes the share that a partition has of a tensor or an embedding.
struct TensorMemory {
  part @0 :Int32;
  name @1 :Text;
  jobId @2 :Text;          # the job that owns it; empty: it is persistent
  dtype @3 :Text;
  shape @4 :List(Int64);   # the shape of the share
  bytes @5 :UInt64;        # in memory, with the optimiser's state
  changedBytes @6 :UInt64; # the part of `bytes` that is not written back yet
  storedBytes @7 :UInt64;  # in RocksDB's files, after compression, approximately
}

# Describes the contents of a daemon's memory. The lists have the largest arrays and shares; the
# sums cover all.
struct MemoryUse {
  arrays @0 :List(ArrayMemory);
  tensors @1 :List(TensorMemory);
  numArrays @2 :UInt64;
  numTensors @3 :UInt64;
  graphBytes @4 :UInt64;   # with the gaps that align arrays, as in the status
  indexBytes @5 :UInt64;
  tensorBytes @6 :UInt64;  # the sum over all shares
  bufferBytes @7 :UInt64;  # RocksDB's buffers, where they count towards the limit of memory
  changedBytes @8 :UInt64;
  storedBytes @9 :UInt64;
  rssBytes @10 :UInt64;    # the memory of the process that is in RAM
}

# Every call is refused with `denied` unless the peer is an operator. `by` is the name that the
# operator's graphctl gives, such as alice@host-1; the daemon adds the user that the kernel reports.
interface Control {
  # Refuses new jobs (`on`), or accepts them again. Returns whether that has changed anything; a new
  # reason counts as a change.
  drain @0 (on :Bool, by :Text, reason :Text) -> (changed :Bool);

  # Ends a job at this daemon: closes the job's connections, refuses its processes for a while, and
  # drops its tensors once its last process has left. Returns how many members the job had.
  endJob @1 (jobId :Text, by :Text, reason :Text) -> (members :UInt32);

  # Sets the level of the log until the next start or reload: "debug", "info", "warning" or "error".
  # Returns the level before.
  setLogLevel @2 (level :Text, by :Text) -> (before :Text);

  # Reads the configuration again, and applies the options that a running daemon can change. If the
  # configuration has a mistake, fails and changes nothing.
  reload @3 (by :Text) -> (changes :List(ChangedOption));

  # Returns the requests of all clients that are not answered yet: the oldest first, at most `most`,
  # and the number of all.
  requests @4 (most :UInt32) -> (requests :List(RequestStatus), total :UInt64);

  # Returns the contents of the daemon's memory: at most `most` arrays and at most `most` shares of
  # tensors, the largest first.
  memory @5 (most :UInt32) -> (use :MemoryUse);

  # Begins to load another version of the graph beside the current one, and returns at once. If
  # `partConfig` is empty, the configuration is read again, and its part config is used. `id` is the
  # id of the version at all daemons of the server. If the client drops the capability before
  # `commit`, the memory is given back.
  prepareSwitch @6 (partConfig :Text, id :Text, by :Text) -> (switch :GraphSwitch);
}

# A version of the graph that a daemon loads in order to serve it.
interface GraphSwitch {
  # Returns the progress of the loading. If the loading has failed, fails with its error, which says
  # why this graph can't be served.
  progress @0 () -> (ready :Bool, done :UInt64, total :UInt64);
  # Lets new jobs get this version. Jobs that are attached keep theirs.
  commit @1 () -> (partConfig :Text, fingerprint :Text, jobs :UInt32);
}
