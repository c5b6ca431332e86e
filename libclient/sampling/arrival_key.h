// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

// Samples of several partitions (or edge types) merged into the exact sample over their union.
//
// Think of a clock on each edge that rings after an exponentially distributed time, at rate 1
// (uniform) or at the edge's weight. The first k edges to ring are a sample without replacement
// with exactly the wanted distribution, and the first k of a union are among the first k of its
// parts. So each partition sends when its picks rang, and the earliest k of all are kept. With
// replacement each draw is a race of its own, which a partition runs at the rate of its total.
// Deterministic methods race by value.
//
// Who merges must ask every part with the same fanout and with a key of its own (PartKey in
// edge_picker.h), and parts must not share edges.

namespace graphd {

// When a pick arrived, as an integer that only order matters of; the smallest wins.
using Race = uint64_t;

// From an arrival time >= 0, and back.
inline Race RaceAt(double arrival) noexcept { return std::bit_cast<uint64_t>(arrival); }
inline double ArrivalOf(Race race) noexcept { return std::bit_cast<double>(race); }

// An exponential variate of rate 1 from 64 random bits, the same on every machine (libm's log may
// differ in its last bit). Above 0 and below 37.
double Exponential(uint64_t bits) noexcept;

// What one partition picked: as counts(), races() of EdgePicker.
struct RacePart {
  std::span<const uint32_t> counts;  // per seed
  std::span<const Race> races;       // one per pick, seed after seed
};

// One winner: its part, and its position among that part's picks.
struct RaceWinner {
  uint32_t part;
  uint64_t pick;
  bool operator==(const RaceWinner&) const = default;
};

// Merges parts seed by seed. counts gets the number of winners per seed; winners come seed after
// seed: without replacement the min(fanout, all) earliest picks in order of arrival (ties: lower
// part, then lower pick), all of them for fanout -1; with replacement (replace, fanout >= 0) the
// winner of each draw. All parts must have the same number of seeds. Throws Error(kInvalid) if the
// parts contradict themselves: different numbers of seeds, counts that don't add up to the races,
// or, with replacement, counts that are neither 0 nor fanout.
void MergeRaces(std::span<const RacePart> parts, int fanout, bool replace,
                std::vector<uint32_t>& counts, std::vector<RaceWinner>& winners);

}  // namespace graphd
