// SPDX-License-Identifier: Apache-2.0
#include "store/rows/array_memory.h"

#include <algorithm>
#include <utility>

#include "base/huge_pages.h"
#include "graphd/error.h"
#include "store/rows/arena_layout.h"

namespace graphd::store {

// Huge pages are allocated in groups, because in each call that makes huge pages, all processors
// wait for each other, which takes a millisecond if one of them sleeps.
ArrayMemory::ArrayMemory(std::byte* data, uint64_t bytes, Pages pages, bool collapses,
                         Functions functions)
    : data_(data),
      bytes_(bytes),
      pages_(pages),
      functions_(std::move(functions)),
      groups_(pages == Pages::kHuge ? (bytes + kGroup - 1) / kGroup : 0),
      blocks_(bytes),
      full_(pages == Pages::kCollapsed && collapses ? bytes : 0) {}

// Calls f(begin, end, group) for each group that a range overlaps, with the part of the range in
// this group.
template <class F>
void ArrayMemory::EachPart(uint64_t begin, uint64_t end, const F& f) const {
  while (begin < end) {
    const uint64_t group = begin / kGroup;
    const uint64_t part_end = std::min(end, (group + 1) * kGroup);
    f(begin, part_end, group);
    begin = part_end;
  }
}

// Allocates the group as a whole unless it is allocated. Returns false if its memory is allocated
// in blocks instead.
bool ArrayMemory::TakeGroup(uint64_t group, uint64_t& taken) {
  std::atomic<Group>& how = groups_[group];
  if (how.load(std::memory_order_acquire) == kUnused) {
    const MutexLock lock(taking_[group % kMutexes]);
    if (how.load(std::memory_order_relaxed) == kUnused) {
      const uint64_t first = group * kGroup, bytes = std::min(kGroup, bytes_ - first);
      bool whole = functions_.room() >= bytes;
      if (whole) {
        PopulateHugePages(data_ + first, bytes);  // allocates nothing on an old kernel
        try {
          functions_.allocate(first, bytes);
        } catch (const Error&) {
          functions_.release(first, bytes);
          whole = false;
        }
      }
      if (whole) taken += bytes;
      how.store(whole ? kTaken : kInBlocks, std::memory_order_release);
    }
  }
  return how.load(std::memory_order_acquire) == kTaken;
}

void ArrayMemory::TakeBlocks(uint64_t begin, uint64_t end, uint64_t& taken) {
  const MutexLock lock(mutex_);
  try {
    taken += blocks_.Add(begin, end, functions_.allocate);
  } catch (...) {
    blocks_.Remove(begin, end, functions_.release);
    throw;
  }
}

void ArrayMemory::Take(uint64_t begin, uint64_t end, uint64_t& taken) {
  if (pages_ != Pages::kHuge) return TakeBlocks(begin, end, taken);
  uint64_t done = begin;
  try {
    EachPart(begin, end, [&](uint64_t part, uint64_t part_end, uint64_t group) {
      if (!TakeGroup(group, taken)) TakeBlocks(part, part_end, taken);
      done = part_end;
    });
  } catch (...) {
    taken -= Give(begin, done);
    throw;
  }
}

uint64_t ArrayMemory::Count(uint64_t begin, uint64_t end) {
  SetUsed(begin, end);
  const MutexLock lock(mutex_);
  return blocks_.Add(begin, end, [](uint64_t, uint64_t) {});
}

uint64_t ArrayMemory::Give(uint64_t begin, uint64_t end) noexcept {
  const MutexLock lock(mutex_);
  if (pages_ != Pages::kHuge) return blocks_.Remove(begin, end, functions_.release);
  uint64_t given = 0;
  EachPart(begin, end, [&](uint64_t part, uint64_t part_end, uint64_t group) {
    mutex_.AssumeHeld();
    if (groups_[group].load(std::memory_order_acquire) != kInBlocks) return;
    given += blocks_.Remove(part, part_end, functions_.release);
  });
  return given;
}

uint64_t ArrayMemory::MaxBytes(uint64_t begin, uint64_t end) const noexcept {
  const uint64_t block = pages_ == Pages::kHuge ? kGroup : BlockUses::kBlock;
  return RoundUp(end, block) - begin / block * block;
}

void ArrayMemory::SetUsed(uint64_t begin, uint64_t end) {
  if (pages_ != Pages::kCollapsed) return;
  const MutexLock lock(mutex_);
  full_.Add(begin, end, [this](uint64_t at) {
    mutex_.AssumeHeld();
    to_collapse_.push_back(data_ + at);
  });
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
