// SPDX-License-Identifier: Apache-2.0
#include "sampling/arrival_key.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"

namespace graphd {

double Exponential(uint64_t bits) noexcept {
  // -log(u) for u = (52 bits + 1/2) / 2^52 in (0, 1): u = m 2^e with m in [sqrt(1/2), sqrt(2)), and
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172: twelve terms are good to 1e-18.
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

void CheckParts(std::span<const RacePart> parts, int fanout, bool replace) {
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
    if (sum != parts[p].races.size()) {
      Throw(ErrorCode::kInvalid, "part ", p, " has ", parts[p].races.size(), " races, expected ",
            sum);
    }
  }
}

}  // namespace

void MergeRaces(std::span<const RacePart> parts, int fanout, bool replace,
                std::vector<uint32_t>& counts, std::vector<RaceWinner>& winners) {
  CheckParts(parts, fanout, replace);
  const size_t seeds = parts.empty() ? 0 : parts[0].counts.size();
  counts.assign(seeds, 0);
  winners.clear();
  std::vector<uint64_t> at(parts.size(), 0);  // first pick of the seed in each part
  const auto race_of = [&](const RaceWinner& w) { return parts[w.part].races[w.pick]; };
  const auto earlier = [&](const RaceWinner& a, const RaceWinner& b) {
    const Race x = race_of(a), y = race_of(b);
    if (x != y) return x < y;
    return a.part != b.part ? a.part < b.part : a.pick < b.pick;
  };
  std::vector<RaceWinner> field;
  for (size_t seed = 0; seed < seeds; seed++) {
    const size_t before = winners.size();
    field.clear();
    for (uint32_t p = 0; p < parts.size(); p++) {
      for (uint32_t i = 0; i < parts[p].counts[seed]; i++) field.push_back({p, at[p] + i});
    }
    if (fanout < 0) {
      winners.insert(winners.end(), field.begin(), field.end());
    } else if (replace) {
      // Runs of `fanout` picks, one per part that has any: the best of each column wins.
      const auto width = static_cast<size_t>(fanout);
      for (size_t draw = 0; draw < width && !field.empty(); draw++) {
        RaceWinner best = field[draw];
        for (size_t i = draw + width; i < field.size(); i += width) {
          if (earlier(field[i], best)) best = field[i];
        }
        winners.push_back(best);
      }
    } else {
      const size_t keep = std::min(field.size(), static_cast<size_t>(fanout));
      std::partial_sort(field.begin(), field.begin() + static_cast<ptrdiff_t>(keep), field.end(),
                        earlier);
      winners.insert(winners.end(), field.begin(), field.begin() + static_cast<ptrdiff_t>(keep));
    }
    counts[seed] = static_cast<uint32_t>(winners.size() - before);
    for (size_t p = 0; p < parts.size(); p++) at[p] += parts[p].counts[seed];
  }
}

}  // namespace graphd
