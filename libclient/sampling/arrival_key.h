// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

// Functions that merge samples of several partitions (or edge types) into an exact sample of their
// union.
//
// Every edge has a random arrival time. It is exponentially distributed, and its rate is 1 (uniform
// sampling) or the edge's weight (weighted sampling). The k edges that arrive first are a sample
// without replacement with exactly the required distribution. Each of the first k edges of a union
// is also among the first k edges of its part. So each partition sends the arrival keys of its
// sampled edges, and the earliest k of all are kept. With replacement, each draw has an arrival
// time of its own, whose rate in a partition is the sum of the rates of its edges. Deterministic
// methods use the edge's value as its arrival key.
//
// The caller must sample every part with the same fanout and with a key of its own (PartKey in
// sample_key.h), and parts must not share edges.

namespace graphd {

// An order-preserving integer key of an arrival time; a smaller key means an earlier arrival.
using ArrivalKey = uint64_t;

// Returns the key of an arrival time, which is not negative.
inline ArrivalKey ArrivalKeyAt(double time) noexcept { return std::bit_cast<uint64_t>(time); }

// Converts 64 random bits to an exponentially distributed number of rate 1, between 0 and 37. The
// result is the same on every machine, whereas libm's log may differ in its last bit.
double Exponential(uint64_t bits) noexcept;

// The sample of one part, like counts() and arrival_keys() of EdgeSampler.
struct PartArrivals {
  std::span<const uint32_t> counts;  // per seed
  std::span<const ArrivalKey> keys;  // one per edge, seed after seed
};

// An edge of a merged sample: its part, and its position among that part's edges.
struct MergedEdge {
  uint32_t part;
  uint64_t position;
  bool operator==(const MergedEdge&) const = default;
};

// Merges parts seed by seed. `counts` gets the number of edges per seed, and `merged` gets the
// edges, seed after seed. For fanout -1, these are all edges. Otherwise, without replacement, they
// are the min(fanout, all) earliest edges in order of arrival (ties: lower part, then lower
// position); with replacement, they are the earliest edge of each draw. Throws Error(kInvalid) if
// the parts are inconsistent: different numbers of seeds, counts that don't add up to the number of
// keys, or, with replacement, counts that are neither 0 nor fanout.
void MergeByArrival(std::span<const PartArrivals> parts, int fanout, bool replace,
                    std::vector<uint32_t>& counts, std::vector<MergedEdge>& merged);

}  // namespace graphd
