// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging/line_limits.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace graphd {

bool LineLimits::Admit(std::string_view op, Clock::time_point now) {
  const double burst = op.empty() ? kOwnBurst : kBurst, pause = op.empty() ? kOwnPause : kPause;
  auto found = buckets_.find(op);
  if (found == buckets_.end()) {
    // No client can choose an operation, but a mistake in the daemon could.
    const std::string key(buckets_.size() < kMaxOperations ? op : kOtherOperations);
    found = buckets_.try_emplace(key, Bucket{burst, now}).first;
  }
  Bucket& bucket = found->second;
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  if (seconds > 0) {
    bucket.lines = std::min(burst, bucket.lines + seconds / pause);
    bucket.filled = now;
  }
  if (bucket.lines < 1) {
    bucket.left_out++;
    return false;
  }
  bucket.lines -= 1;
  return true;
}

std::vector<LineLimits::LeftOut> LineLimits::TakeLeftOut() {
  std::vector<LeftOut> all;
  for (auto& [op, bucket] : buckets_) {
    if (bucket.left_out != 0) all.push_back({op, std::exchange(bucket.left_out, 0)});
  }
  return all;
}

}  // namespace graphd
