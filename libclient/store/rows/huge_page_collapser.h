// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"
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
  void CollapseAll();

  const std::function<std::vector<std::shared_ptr<Table>>()> tables_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace graphd::store
