// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <memory>

#include "client/link/mapped_read_counts.h"
#include "wire/graphd.capnp.h"

// Functions that tell a daemon what was read in its mapped memory. The counts are not exact: the
// daemon may or may not have counted a message that is lost with its connection, and a count above
// kMostToldReads is sent as kMostToldReads. They must be called on the RPC thread.

namespace graphd {

// Sends the counts if there are any. If that fails, the promise fails, and the counts are added
// back to `counts`.
kj::Promise<void> TellReads(wire::Session::Client session,
                            std::shared_ptr<MappedReadCounts> counts);

// Calls TellReads once a second. The promise is fulfilled when the daemon can't be told any more,
// because it has gone or its version does not have this call.
kj::Promise<void> KeepTellingReads(kj::Timer& timer, wire::Session::Client session,
                                   std::shared_ptr<MappedReadCounts> counts);

}  // namespace graphd
