// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"

namespace graphd::testing {

// The service manager's end of sd_notify(3): keeps the lines of all messages. Daemons that start
// while it exists send theirs here.
class ServiceMessages {
 public:
  // Makes the socket `path`.
  explicit ServiceMessages(const std::string& path);
  ~ServiceMessages();
  std::vector<std::string> lines() const;

 private:
  void Read();

  UniqueFd socket_;
  mutable Mutex mutex_;
  std::vector<std::string> lines_ GRAPHD_GUARDED_BY(mutex_);
  std::atomic<bool> stop_{false};
  std::thread reader_;
};

}  // namespace graphd::testing
