// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/status_cache.h"

namespace graphd {

StatusCache::StatusPtr StatusCache::MadeAfter(Clock::time_point asked,
                                              const std::function<ServerStatus()>& make) {
  const MutexLock lock(mutex_);
  if (StatusPtr latest = latest_.lock(); latest != nullptr && begun_ > asked) return latest;
  begun_ = Clock::now();
  auto made = std::make_shared<const ServerStatus>(make());
  latest_ = made;
  return made;
}

}  // namespace graphd
