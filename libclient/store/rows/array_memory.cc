// SPDX-License-Identifier: Apache-2.0
#include "store/rows/array_memory.h"

#include <algorithm>
#include <utility>

#include "base/huge_pages.h"
#include "base/memory_limit.h"
#include "store/rows/arena_layout.h"

namespace graphd::store {
namespace {

// Huge pages that are allocated at once: each allocation makes all processors wait for each other,
// which takes a millisecond if one of them sleeps.
constexpr uint64_t kGroup = 8 * kHugePage;
constexpr uint64_t kLeastHuge = 4 * kGroup;
// The part of the available memory that an array may take: the optimiser's state may take as much.
constexpr uint64_t kAvailablePart = 2;

}  // namespace

ArrayMemory::Pages ArrayMemory::PagesFor(uint64_t bytes) {
  if (bytes < kLeastHuge) return Pages::kCollapsed;
  return bytes <= AvailableMemory().bytes / kAvailablePart ? Pages::kHuge : Pages::kCollapsed;
}

ArrayMemory::ArrayMemory(std::byte* data, uint64_t bytes, Pages pages, bool collapses,
                         Functions functions)
    : data_(data),
      bytes_(bytes),
      pages_(pages),
      functions_(std::move(functions)),
      taken_(pages == Pages::kHuge ? (bytes + kGroup - 1) / kGroup : 0),
      blocks_(pages == Pages::kHuge ? 0 : bytes),
      full_(pages == Pages::kCollapsed && collapses ? bytes : 0) {}

void ArrayMemory::CountFull(uint64_t begin, uint64_t end) {
  full_.Add(begin, end, [this](uint64_t at) {
    mutex_.AssumeHeld();
    to_collapse_.push_back(data_ + at);
  });
}

uint64_t ArrayMemory::TakeHuge(uint64_t begin, uint64_t end) {
  uint64_t taken = 0;
  for (uint64_t group = begin / kGroup; group * kGroup < end; group++) {
    if (taken_[group].load(std::memory_order_acquire)) continue;
    const MutexLock lock(taking_[group % kMutexes]);
    if (taken_[group].load(std::memory_order_relaxed)) continue;
    const uint64_t first = group * kGroup, bytes = std::min(kGroup, bytes_ - first);
    // This allocates nothing on an old kernel, and too little if memory is short.
    PopulateHugePages(data_ + first, bytes);
    try {
      functions_.allocate(first, bytes);
    } catch (...) {
      functions_.release(first, bytes);
      throw;
    }
    taken_[group].store(true, std::memory_order_release);
    taken += bytes;
  }
  return taken;
}

uint64_t ArrayMemory::Take(uint64_t begin, uint64_t end) {
  if (pages_ == Pages::kHuge) return TakeHuge(begin, end);
  const MutexLock lock(mutex_);
  uint64_t taken = 0;
  try {
    taken = blocks_.Add(begin, end, functions_.allocate);
  } catch (...) {
    blocks_.Remove(begin, end, functions_.release);
    throw;
  }
  CountFull(begin, end);
  return taken;
}

uint64_t ArrayMemory::Count(uint64_t begin, uint64_t end) {
  const MutexLock lock(mutex_);
  CountFull(begin, end);
  return blocks_.Add(begin, end, [](uint64_t, uint64_t) {});
}

uint64_t ArrayMemory::Give(uint64_t begin, uint64_t end) noexcept {
  const MutexLock lock(mutex_);
  return blocks_.Remove(begin, end, functions_.release);
}

uint64_t ArrayMemory::MaxBytes(uint64_t begin, uint64_t end) const noexcept {
  const uint64_t block = pages_ == Pages::kHuge ? kGroup : BlockUses::kBlock;
  return RoundUp(end, block) - begin / block * block;
}

bool ArrayMemory::CollapseOnePage() {
  std::byte* page = nullptr;
  {
    const MutexLock lock(mutex_);
    if (to_collapse_.empty()) return false;
    page = to_collapse_.back();
    to_collapse_.pop_back();
  }
  CollapsePages(page, kHugePage);
  return true;
}

}  // namespace graphd::store
