# SPDX-License-Identifier: Apache-2.0
# The interface by which operators control a running graphd; Daemon.control returns it.
@0xd2a54c6e1b7f9083;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("graphd::wire");

# The reason why a daemon takes no new jobs.
struct Drained {
  by @0 :Text;             # the operator who has asked for it
  reason @1 :Text;         # given by that operator; may be empty
  seconds @2 :Float64;     # since then
}

# An option whose value in the configuration differs from the running one.
struct ChangedOption {
  key @0 :Text;
  before @1 :Text;         # the running value
  after @2 :Text;          # the value of the file or the command line
  needsRestart @3 :Bool;   # false: it has been applied
  place @4 :Text;          # FILE:LINE that sets it; empty if nothing does
}

# The requests of one connection that are not answered yet, and the answers it has not read.
struct ClientRequests {
  jobId @0 :Text;
  role @1 :Text;           # "trainer", "launcher" or "bulk"
  rank @2 :Int32;
  peer @3 :Text;           # "unix" or the address
  pid @4 :Int64;           # 0 over TCP
  unreadBytes @5 :UInt64;  # bytes of answers that are reserved, queued or being sent
  stalledSeconds @6 :Float64;  # for which the client has read nothing of an answer; 0: none waits
  requests @7 :List(Request);

  struct Request {
    method @0 :Text;
    seconds @1 :Float64;   # since it arrived
    waitsFor @2 :Text;
  }
}

struct MemoryUse {
  arrays @0 :List(ArrayUse);
  tensors @1 :List(TensorUse);
  others @2 :List(OtherUse);
  residentBytes @3 :UInt64;  # the resident memory of the process

  struct ArrayUse {
    part @0 :Int32;        # -1: of all partitions
    kind @1 :Text;         # "structure", "node feature", "edge feature", "index", "owners", ...
    name @2 :Text;
    bytes @3 :UInt64;
  }
  struct TensorUse {
    part @0 :Int32;
    name @1 :Text;
    jobId @2 :Text;        # empty: it is persistent
    residentBytes @3 :UInt64;  # rows and the optimiser's state in memory
    rows @4 :Int64;        # rows that are stored
  }
  struct OtherUse {
    name @0 :Text;
    bytes @1 :UInt64;
    limit @2 :UInt64;      # 0: none
  }
}

# Every call is refused with `denied` unless the peer is an operator. `by` is the name that the
# operator's graphctl gives, such as alice@host-1; the daemon adds the user that the kernel reports.
interface Control {
  # Refuses new jobs (`on`), or takes them again. Returns whether that changed anything; a new
  # reason counts as a change.
  drain @0 (on :Bool, by :Text, reason :Text) -> (changed :Bool);

  # Ends a job at this daemon: closes its connections, refuses its processes for a while, and drops
  # its tensors once the last of them has left. Returns how many members it had.
  endJob @1 (jobId :Text, by :Text, reason :Text) -> (members :UInt32);

  # Sets the level of the log until the next start or reload: "debug", "info", "warning" or "error".
  # Returns the level before.
  setLogLevel @2 (level :Text, by :Text) -> (before :Text);

  # Reads the configuration again and applies what can change. A mistake in it is an error, and then
  # nothing changes.
  reload @3 (by :Text) -> (changes :List(ChangedOption));

  # Lists the requests in flight, the oldest of each connection first, at most `most` in all.
  requests @4 (most :UInt32) -> (clients :List(ClientRequests), inFlight :UInt64,
                                 silentThreads :List(Text));

  # Lists what the daemon's memory holds.
  memory @5 () -> (memory :MemoryUse);
}
