// SPDX-License-Identifier: Apache-2.0
#include "sampling/arrival_key.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"

namespace graphd {

double Exponential(uint64_t bits) noexcept {
  // The result is -log(u) for u = (52 bits + 1/2) / 2^52, which is in (0, 1). With u = m 2^e and m
  // in [sqrt(1/2), sqrt(2)), log m = 2 atanh(s) for s = (m - 1) / (m + 1). Because |s| < 0.172,
  // twelve terms of the series of atanh have an error of about 1e-18.
  constexpr double kLog2 = 0.693147180559945309417;
  const double u = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  auto word = std::bit_cast<uint64_t>(u);
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  constexpr uint64_t kSqrtHalfFraction = 0x6a09e667f3bcd;  // of sqrt(2) as 1.f
  int exponent = static_cast<int>(word >> 52) - 1023;
  uint64_t biased = 1023;
  if ((word & kFraction) >= kSqrtHalfFraction) {
    exponent++;
    biased = 1022;
  }
  const double m = std::bit_cast<double>((word & kFraction) | biased << 52);
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double series = 0;
  for (int term = 23; term >= 1; term -= 2) series = series * square + 1.0 / term;
  return -(static_cast<double>(exponent) * kLog2 + 2 * s * series);
}

namespace {

void CheckParts(std::span<const PartArrivals> parts, int fanout, bool replace) {
  for (size_t p = 0; p < parts.size(); p++) {
    if (parts[p].counts.size() != parts[0].counts.size()) {
      Throw(ErrorCode::kInvalid, "part ", p, " sampled ", parts[p].counts.size(),
            " seeds, expected ", parts[0].counts.size());
    }
    uint64_t sum = 0;
    for (uint32_t count : parts[p].counts) {
      sum += count;
      if (replace && fanout >= 0 && count != 0 && count != static_cast<uint32_t>(fanout)) {
        Throw(ErrorCode::kInvalid, "part ", p, " sampled ", count,
              " edges of a seed with replacement, expected 0 or ", fanout);
      }
    }
    if (sum != parts[p].keys.size()) {
      Throw(ErrorCode::kInvalid, "part ", p, " has ", parts[p].keys.size(),
            " arrival keys, expected ", sum);
    }
  }
}

}  // namespace

void MergeByArrival(std::span<const PartArrivals> parts, int fanout, bool replace,
                    std::vector<uint32_t>& counts, std::vector<MergedEdge>& merged) {
  CheckParts(parts, fanout, replace);
  const size_t seeds = parts.empty() ? 0 : parts[0].counts.size();
  counts.assign(seeds, 0);
  merged.clear();
  std::vector<uint64_t> at(parts.size(), 0);  // first edge of the seed in each part
  const auto key_of = [&](const MergedEdge& e) { return parts[e.part].keys[e.position]; };
  const auto earlier = [&](const MergedEdge& a, const MergedEdge& b) {
    const ArrivalKey x = key_of(a), y = key_of(b);
    if (x != y) return x < y;
    return a.part != b.part ? a.part < b.part : a.position < b.position;
  };
  std::vector<MergedEdge> all;  // edges of one seed
  for (size_t seed = 0; seed < seeds; seed++) {
    const size_t before = merged.size();
    all.clear();
    for (uint32_t p = 0; p < parts.size(); p++) {
      for (uint32_t i = 0; i < parts[p].counts[seed]; i++) all.push_back({p, at[p] + i});
    }
    if (fanout < 0) {
      merged.insert(merged.end(), all.begin(), all.end());
    } else if (replace) {
      // `all` has one run of `fanout` edges for each part that has any. Edge number `draw` of a run
      // is that part's edge for the draw. The earliest of them is kept.
      const auto width = static_cast<size_t>(fanout);
      for (size_t draw = 0; draw < width && !all.empty(); draw++) {
        MergedEdge best = all[draw];
        for (size_t i = draw + width; i < all.size(); i += width) {
          if (earlier(all[i], best)) best = all[i];
        }
        merged.push_back(best);
      }
    } else {
      const size_t keep = std::min(all.size(), static_cast<size_t>(fanout));
      std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(keep), all.end(),
                        earlier);
      merged.insert(merged.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(keep));
    }
    counts[seed] = static_cast<uint32_t>(merged.size() - before);
    for (size_t p = 0; p < parts.size(); p++) at[p] += parts[p].counts[seed];
  }
}

}  // namespace graphd
