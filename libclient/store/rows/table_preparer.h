// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "base/threads/mutex.h"
#include "store/rows/table.h"

namespace graphd::store {

// The maximum time for which an optimiser that begins to train a table waits until the table's
// memory is prepared. Without this wait, the first step of the optimiser would take longer by about
// the same time, because it uses most huge pages of the table.
inline constexpr std::chrono::seconds kLongestPreparation{5};

// A thread that loads the pages of new tables before they are used, table after table, so that few
// pushes and reads have to wait for memory and for first values. It prepares only tables whose
// memory is allocated in huge pages (ArrayMemory), and stops preparing a table when only about an
// eighth of the machine's memory, or of the tmpfs, is free. It locks one page at a time.
// Thread-safe.
class TablePreparer {
 public:
  TablePreparer();
  ~TablePreparer();
  TablePreparer(const TablePreparer&) = delete;
  TablePreparer& operator=(const TablePreparer&) = delete;

  void Add(const std::shared_ptr<Table>& table);

 private:
  void Run();
  void Prepare(const std::weak_ptr<Table>& table);
  bool stopping();

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  // The tables to prepare. They may be dropped before they are prepared.
  std::deque<std::weak_ptr<Table>> tables_ GRAPHD_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace graphd::store
