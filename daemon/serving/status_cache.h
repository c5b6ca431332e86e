// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "wire/status.h"

namespace graphd {

// The latest status of the daemon. It is kept while somebody uses it, so that many clients who ask
// at the same time cost no more than one: looking at thousands of tensors takes milliseconds.
// Thread-safe.
class StatusCache {
 public:
  using StatusPtr = std::shared_ptr<const ServerStatus>;

  // Returns a status that was made after `asked`: the latest one, or else what `make` returns.
  // Other threads wait while `make` runs.
  StatusPtr MadeAfter(Clock::time_point asked, const std::function<ServerStatus()>& make);

 private:
  Mutex mutex_{Mutex::kHeldLong};
  Clock::time_point begun_ GRAPHD_GUARDED_BY(mutex_);  // the time at which `latest_` was begun
  std::weak_ptr<const ServerStatus> latest_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
