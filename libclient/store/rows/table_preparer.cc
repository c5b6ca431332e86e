// SPDX-License-Identifier: Apache-2.0
#include "store/rows/table_preparer.h"

#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

constexpr uint64_t kCheckedBytes = uint64_t{128}
                                   << 20;  // prepared between two checks of what is free

}  // namespace

TablePreparer::TablePreparer() : thread_([this] { Run(); }) {}

TablePreparer::~TablePreparer() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void TablePreparer::Add(const std::shared_ptr<Table>& table) {
  if (!table->arena().has_huge_pages()) return;
  const MutexLock lock(mutex_);
  tables_.push_back(table);
  table->SetPreparing(true);
  wake_.NotifyAll();
}

bool TablePreparer::stopping() {
  const MutexLock lock(mutex_);
  return stopping_;
}

void TablePreparer::Run() {
  const WatchedThread watched("table memory");
  for (;;) {
    std::weak_ptr<Table> next;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && tables_.empty()) wake_.Wait(mutex_);
      if (stopping_) return;
      next = std::move(tables_.front());
      tables_.pop_front();
    }
    LogFailure("the preparation of a table", [&] { Prepare(next); });
    if (const std::shared_ptr<Table> table = next.lock()) table->SetPreparing(false);
  }
}

void TablePreparer::Prepare(const std::weak_ptr<Table>& weak) {
  uint64_t checked = 0;  // bytes that may be prepared before the next check
  for (uint64_t page = 0;;) {
    const std::shared_ptr<Table> table = weak.lock();
    if (table == nullptr || page == table->arena().num_pages() || stopping()) return;
    if (checked < kHugePage) {
      if (table->arena().room() < kCheckedBytes) {
        LogInfo({.op = "create_tensor"}, NamedTable(table->spec().name),
                ": memory is short, so rows take it when they are ", "first used");
        return;
      }
      checked = kCheckedBytes;
    }
    checked -= kHugePage;
    page = table->Prepare(page);
    WatchedThread::CountProgress();
  }
}

}  // namespace graphd::store
