// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include "graphd/error.h"

namespace graphd {

// Ends the RPC of a client that has begun no handshake with an error that it understands.
kj::Promise<void> AbortPlaintext(kj::AsyncIoStream& stream, const Error& error, kj::Timer& timer);

}  // namespace graphd
