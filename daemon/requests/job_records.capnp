# SPDX-License-Identifier: Apache-2.0
# The file in which a daemon keeps the reports of supervisors about jobs. A line with a version and
# a checksum precedes it (job_record_file.cc).
#
# Compatibility: the version is raised when a field changes its meaning. Fields may be added.
@0xe3b7a1c94d6f2085;
using Cxx = import "/capnp/c++.capnp";
using Wire = import "/wire/graphd.capnp";
$Cxx.namespace("graphd::kept");

struct Job {
  record @0 :Wire.JobRecord;   # its silentSeconds is not used
  reportedAt @1 :Float64;      # when the last report came, in seconds since 1970
  # The credentials of the job's first report.
  secretHash @2 :Data;         # empty: there was no secret
  hasUid @3 :Bool;
  uid @4 :UInt32;
  certificate @5 :Data;
  hasSharedSecret @6 :Bool;    # its sender knew the server's shared secret
}

struct Jobs {
  jobs @0 :List(Job);
}
