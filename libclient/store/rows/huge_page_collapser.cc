// SPDX-License-Identifier: Apache-2.0
#include "store/rows/huge_page_collapser.h"

#include <chrono>
#include <utility>

namespace graphd::store {
namespace {

constexpr auto kCollapseInterval = std::chrono::seconds(1);

}  // namespace

HugePageCollapser::HugePageCollapser(std::function<std::vector<std::shared_ptr<Table>>()> tables)
    : tables_(std::move(tables)), thread_([this] { Run(); }) {}

HugePageCollapser::~HugePageCollapser() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void HugePageCollapser::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kCollapseInterval, [this] { return stopping_; })) {
    lock.unlock();
    for (const std::shared_ptr<Table>& table : tables_()) {
      bool more = true;
      while (more) {
        more = table->CollapseOnePage();
        std::lock_guard stop(mutex_);
        more = more && !stopping_;
      }
    }
    lock.lock();
  }
}

}  // namespace graphd::store
