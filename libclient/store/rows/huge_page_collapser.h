// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "store/rows/table.h"

namespace graphd::store {

// A thread that makes large pages of the small ones in which rows came into memory, once a second,
// where all of a large one is there.
class PageJoiner {
 public:
  // `tables`: those that there are now; called by the thread.
  explicit PageJoiner(std::function<std::vector<std::shared_ptr<Table>>()> tables);
  ~PageJoiner();
  PageJoiner(const PageJoiner&) = delete;
  PageJoiner& operator=(const PageJoiner&) = delete;

 private:
  void Run();

  const std::function<std::vector<std::shared_ptr<Table>>()> tables_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace graphd::store
