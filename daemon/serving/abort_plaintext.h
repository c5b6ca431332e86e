// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include "graphd/error.h"

namespace graphd {

// Sends an error to a client that has begun RPC without a handshake, in a form that it understands,
// and ends its RPC.
kj::Promise<void> AbortPlaintext(kj::AsyncIoStream& stream, const Error& error, kj::Timer& timer);

}  // namespace graphd
