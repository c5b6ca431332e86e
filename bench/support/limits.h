// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

// What this machine can do at best, measured in the same run as what is compared with it. Each is
// measured once, when first asked for; single-threaded.

namespace graphd::bench {

// Nanoseconds per independent random 4-byte read from a table of `bytes` on 2 MiB pages.
double RandomReadNs(size_t bytes);
// Nanoseconds per random row of `row_bytes` copied out of a table of `bytes` on 2 MiB pages, with
// prefetch: a gather without anything around it.
double RandomRowNs(size_t bytes, size_t row_bytes);
// Seconds for `bytes` to go: memcpy, bare socket, memcpy, in 1 MiB pieces that overlap: what an RPC
// of gathered rows can reach at most. `tcp`: over loopback TCP, else a Unix socket.
double SocketPipelineBytesPerSecond(bool tcp);
// Microseconds of an 8-byte ping-pong over a bare socket.
double SocketRoundTripUs(bool tcp);

}  // namespace graphd::bench
