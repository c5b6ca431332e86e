// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <memory>

#include "client/link/mapped_read_counts.h"
#include "wire/graphd.capnp.h"

// Tells a daemon what was read in its mapped memory, at best effort: a message that is lost with
// its connection may have been counted or not, and more than kMostToldReads are cut to that. Call
// on the RPC thread.

namespace graphd {

// Sends the counts if there are any. Adds them again if that fails; the promise then fails, too.
kj::Promise<void> TellReads(wire::Session::Client session,
                            std::shared_ptr<MappedReadCounts> counts);

// Does so once a second. The promise is fulfilled when the daemon can't be told: it has gone, or is
// older than this call.
kj::Promise<void> KeepTellingReads(kj::Timer& timer, wire::Session::Client session,
                                   std::shared_ptr<MappedReadCounts> counts);

}  // namespace graphd
