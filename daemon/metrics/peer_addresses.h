// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"

namespace graphd {

// The addresses of the metrics of other machines' daemons (--metrics_peers), as host:port. A reload
// may change them. Thread-safe.
class PeerAddresses {
 public:
  static constexpr size_t kMost = 256;

  explicit PeerAddresses(std::vector<std::string> addresses) : addresses_(std::move(addresses)) {}

  void Set(std::vector<std::string> addresses) {
    const MutexLock lock(mutex_);
    addresses_ = std::move(addresses);
  }
  std::vector<std::string> Get() const {
    const MutexLock lock(mutex_);
    return addresses_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> addresses_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
