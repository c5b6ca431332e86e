// SPDX-License-Identifier: Apache-2.0
#include "store/rows/huge_page_collapser.h"

#include <chrono>
#include <utility>

#include "base/failure.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

constexpr auto kCollapseInterval = std::chrono::seconds(1);

}  // namespace

HugePageCollapser::HugePageCollapser(std::function<std::vector<std::shared_ptr<Table>>()> tables)
    : tables_(std::move(tables)), thread_([this] { Run(); }) {}

HugePageCollapser::~HugePageCollapser() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void HugePageCollapser::Run() {
  const WatchedThread watched("huge pages");
  MutexLock lock(mutex_);
  for (;;) {
    const auto next = std::chrono::steady_clock::now() + kCollapseInterval;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) {
    }
    if (stopping_) return;
    lock.Unlock();
    LogFailure("huge pages", [this] { CollapseAll(); });
    lock.Lock();
  }
}

void HugePageCollapser::CollapseAll() {
  for (const std::shared_ptr<Table>& table : tables_()) {
    bool more = true;
    while (more) {
      more = table->CollapseOnePage();
      WatchedThread::CountProgress();
      const MutexLock stop(mutex_);
      more = more && !stopping_;
    }
  }
}

}  // namespace graphd::store
