// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include "graphd/error.h"

namespace graphd {

// Sends an error to a client that has begun RPC without the handshake that the daemon requires, and
// ends its RPC. The client understands the error, because it is sent as plain RPC.
kj::Promise<void> AbortPlaintext(kj::AsyncIoStream& stream, const Error& error, kj::Timer& timer);

}  // namespace graphd
