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

# A request that is not answered yet.
struct RequestStatus {
  operation @0 :Text;      # such as "hop"
  state @1 :Text;          # the thing that it does or waits for
  seconds @2 :Float64;     # since it arrived
  jobId @3 :Text;
  rank @4 :Int32;          # the trainer's; -1: the job's launcher
  pid @5 :Int64;           # 0 for TCP connections
  peer @6 :Text;           # "unix" or the address
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

  # Returns the requests of all clients that are not answered yet: the oldest first, at most `most`,
  # and the number of all.
  requests @4 (most :UInt32) -> (requests :List(RequestStatus), total :UInt64);
}
