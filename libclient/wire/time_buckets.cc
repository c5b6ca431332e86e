// SPDX-License-Identifier: Apache-2.0
#include "wire/time_buckets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire/bounded.h"

namespace graphd {

uint64_t TimeBuckets::count() const noexcept {
  uint64_t all = 0;
  for (const TimeBucket& bucket : buckets) all += bucket.count;
  return all;
}

double TimeBuckets::Quantile(double q) const noexcept {
  const uint64_t all = count();
  if (all == 0) return 0;
  const double wanted = std::max(1.0, std::ceil(q * static_cast<double>(all)));
  uint64_t seen = 0;
  for (const TimeBucket& bucket : buckets) {
    seen += bucket.count;
    if (static_cast<double>(seen) >= wanted) return static_cast<double>(bucket.nanoseconds) * 1e-9;
  }
  return static_cast<double>(buckets.back().nanoseconds) * 1e-9;
}

TimeBuckets TimeBuckets::Since(const TimeBuckets& before) const {
  TimeBuckets out{std::max(0.0, seconds - before.seconds), {}};
  auto old = before.buckets.begin();
  for (const TimeBucket& bucket : buckets) {
    while (old != before.buckets.end() && old->nanoseconds < bucket.nanoseconds) ++old;
    const bool known = old != before.buckets.end() && old->nanoseconds == bucket.nanoseconds;
    const uint64_t earlier = known ? std::min(old->count, bucket.count) : 0;
    if (bucket.count > earlier) out.buckets.push_back({bucket.nanoseconds, bucket.count - earlier});
  }
  return out;
}

void TimeBuckets::Add(const TimeBuckets& other) {
  seconds += other.seconds;
  std::vector<TimeBucket> both;
  both.reserve(buckets.size() + other.buckets.size());
  auto from = other.buckets.begin();
  for (const TimeBucket& bucket : buckets) {
    while (from != other.buckets.end() && from->nanoseconds < bucket.nanoseconds) {
      both.push_back(*from++);
    }
    both.push_back(bucket);
    if (from != other.buckets.end() && from->nanoseconds == bucket.nanoseconds) {
      both.back().count += from++->count;
    }
  }
  both.insert(both.end(), from, other.buckets.end());
  buckets = std::move(both);
}

void WriteTimes(const TimeBuckets& times, wire::Times::Builder out) {
  out.setSeconds(times.seconds);
  auto buckets = out.initBuckets(static_cast<kj::uint>(times.buckets.size()));
  for (kj::uint i = 0; i < buckets.size(); i++) {
    buckets[i].setNanoseconds(times.buckets[i].nanoseconds);
    buckets[i].setCount(times.buckets[i].count);
  }
}

TimeBuckets ReadTimes(wire::Times::Reader in) {
  TimeBuckets times{in.getSeconds(), {}};
  for (auto bucket : BoundedList(in.getBuckets(), "buckets")) {
    const uint64_t bound = bucket.getNanoseconds();
    if (!times.buckets.empty() && bound <= times.buckets.back().nanoseconds) {
      Throw(ErrorCode::kCorrupt, "a bucket of times up to ", bound, " ns follows one up to ",
            times.buckets.back().nanoseconds, " ns; bounds must ascend");
    }
    times.buckets.push_back({bound, bucket.getCount()});
  }
  return times;
}

}  // namespace graphd
