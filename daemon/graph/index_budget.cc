// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/index_budget.h"

#include <utility>

namespace graphd {
namespace {

constexpr const char* kOption = "--index_memory";

// An array, and its bytes in the count of all arrays.
class Counted {
 public:
  Counted(EdgeIndexes::Made array, std::shared_ptr<std::atomic<uint64_t>> used)
      : array_(std::move(array)), used_(std::move(used)) {
    *used_ += array_->size();
  }
  ~Counted() { *used_ -= array_->size(); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  const Segment* array() const noexcept { return array_.get(); }

 private:
  const EdgeIndexes::Made array_;
  const std::shared_ptr<std::atomic<uint64_t>> used_;
};

}  // namespace

MemoryLimit IndexBudget::available() const {
  MemoryLimit found = available_();
  const uint64_t limit = limit_, used = *used_;
  if (limit == 0) return found;
  const uint64_t left = limit > used ? limit - used : 0;
  if (left < found.bytes) found = {left, kOption};
  return found;
}

bool IndexBudget::CouldEverTake(uint64_t bytes) const {
  return bytes <= AddSizes(available().bytes, *used_);
}

void IndexBudget::Add(const std::shared_ptr<EdgeIndexes>& indexes) {
  const MutexLock lock(mutex_);
  std::erase_if(all_, [](const auto& each) { return each.expired(); });
  all_.push_back(indexes);
}

std::vector<std::shared_ptr<EdgeIndexes>> IndexBudget::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<EdgeIndexes>> all;
  for (const std::weak_ptr<EdgeIndexes>& each : all_) {
    if (auto indexes = each.lock()) all.push_back(std::move(indexes));
  }
  return all;
}

void IndexBudget::Check(uint64_t needed, const std::string& what) const {
  const MemoryLimit limit = available();
  CheckMemory(needed, limit, what,
              limit.source == kOption ? "give graphd a larger --index_memory" : kServeLess);
}

EdgeIndexes::Made IndexBudget::Count(EdgeIndexes::Made array) {
  const auto counted = std::make_shared<const Counted>(std::move(array), used_);
  return {counted, counted->array()};
}

}  // namespace graphd
