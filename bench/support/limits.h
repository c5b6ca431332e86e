// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

// The limits of this machine, measured in the same run as the results that they are compared with.
// Each is measured once, when first needed, on a single thread unless its comment says otherwise.

namespace graphd::bench {

// Returns the nanoseconds per independent random 4-byte read from a table of `bytes` on 2 MiB
// pages, each in another line of the memory. Many are in flight: as many as the processor starts by
// itself, or with prefetch, whichever is faster.
double RandomReadNs(size_t bytes);
// Returns the nanoseconds per random row of `row_bytes` copied from a table of `bytes` on 2 MiB
// pages, with prefetch: a gather without any overhead.
double RandomRowNs(size_t bytes, size_t row_bytes);
// Returns the bytes per second of a pipeline of memcpy, a plain socket and another memcpy, which
// work in parallel on pieces of 1 MiB: the upper bound for an RPC of gathered rows. `tcp`: over
// loopback TCP, otherwise a Unix socket.
double SocketPipelineBytesPerSecond(bool tcp);
// Returns the bytes per second of reads of `block` bytes at random places of a new file of
// `file_bytes` in `directory`, without the kernel's cache, by 16 threads, as many as disks serve at
// once.
double RandomDiskBytesPerSecond(const std::string& directory, size_t file_bytes, size_t block);
// Returns the microseconds of a round trip of 8 bytes over a plain socket.
double SocketRoundTripUs(bool tcp);

}  // namespace graphd::bench
