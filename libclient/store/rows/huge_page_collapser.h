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

// A thread that collapses the small pages in which rows were loaded into huge pages, once a second,
// wherever all of a huge page is in memory.
class HugePageCollapser {
 public:
  // `tables` returns the current tables. The thread calls it.
  explicit HugePageCollapser(std::function<std::vector<std::shared_ptr<Table>>()> tables);
  ~HugePageCollapser();
  HugePageCollapser(const HugePageCollapser&) = delete;
  HugePageCollapser& operator=(const HugePageCollapser&) = delete;

 private:
  void Run();

  const std::function<std::vector<std::shared_ptr<Table>>()> tables_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace graphd::store
