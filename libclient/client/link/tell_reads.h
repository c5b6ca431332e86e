// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <memory>

#include "client/link/mapped_read_counts.h"
#include "wire/graphd.capnp.h"

// Functions that tell a daemon what was read in its mapped memory, with best effort: a message that
// is lost with its connection may have been counted or not, and a count above kMostToldReads is
// sent as kMostToldReads. They must be called on the RPC thread.

namespace graphd {

// Sends the counts if there are any. If that fails, adds the counts again, and the promise fails.
kj::Promise<void> TellReads(wire::Session::Client session,
                            std::shared_ptr<MappedReadCounts> counts);

// Calls TellReads once a second. The promise is fulfilled when the daemon can't be told any more,
// because it has gone or its version does not have this call.
kj::Promise<void> KeepTellingReads(kj::Timer& timer, wire::Session::Client session,
                                   std::shared_ptr<MappedReadCounts> counts);

}  // namespace graphd
