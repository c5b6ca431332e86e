// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "store/rows/block_uses.h"
#include "store/rows/full_pages.h"

namespace graphd::store {

// Allocates the memory of an array of table pages when these pages are first used. The array is
// address space that was mapped before, anonymous or of a file. Thread-safe.
class ArrayMemory {
 public:
  enum class Pages : uint8_t {
    kSmall,      // blocks of 4 KiB, which can be freed again
    kCollapsed,  // blocks of 4 KiB; CollapseOnePage makes huge pages where all blocks are in use
    kHuge,       // several huge pages at once, which costs a tenth of kCollapsed
  };
  // Returns kHuge for an array that the machine has room for even if all of it is used, and
  // kCollapsed for a small one or a very large one.
  static Pages PagesFor(uint64_t bytes);

  struct Functions {
    // Allocates these bytes of the file, so that a shortage is Error(kOverloaded) and not SIGBUS.
    // Does nothing for anonymous memory.
    std::function<void(uint64_t begin, uint64_t bytes)> allocate = [](uint64_t, uint64_t) {};
    // Frees memory that no page uses any more. Does not throw.
    std::function<void(uint64_t begin, uint64_t bytes)> release = [](uint64_t, uint64_t) {};
  };
  // `collapses` is whether CollapseOnePage finds pages; only with kCollapsed.
  ArrayMemory(std::byte* data, uint64_t bytes, Pages pages, bool collapses, Functions functions);
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  Pages pages() const noexcept { return pages_; }

  // Take allocates the memory of a table page from byte `begin` to `end`, and returns the bytes
  // that no other page had allocated. Throws what `allocate` throws; then nothing has changed for
  // the blocks, or the group of huge pages, that could not be allocated.
  // Calls for one table page must not overlap with each other, or with Give.
  uint64_t Take(uint64_t begin, uint64_t end);
  // Does the same for memory that has been allocated before. Not with kHuge.
  uint64_t Count(uint64_t begin, uint64_t end);
  // Frees the memory that only this page uses, and returns its bytes. Only with kSmall.
  uint64_t Give(uint64_t begin, uint64_t end) noexcept;
  // Returns an upper bound of what Take returns.
  uint64_t MaxBytes(uint64_t begin, uint64_t end) const noexcept;

  // Collapses small pages into a huge page, if there is one that is all in use and was not
  // collapsed yet; returns false if there is none.
  bool CollapseOnePage();

 private:
  uint64_t TakeHuge(uint64_t begin, uint64_t end);
  void CountFull(uint64_t begin, uint64_t end) GRAPHD_REQUIRES(mutex_);

  std::byte* const data_;
  const uint64_t bytes_;
  const Pages pages_;
  const Functions functions_;

  // kHuge: which groups of huge pages were allocated. A group's mutex is held meanwhile, so that
  // nobody waits for the allocation of another group.
  static constexpr size_t kMutexes = 64;
  std::vector<std::atomic<bool>> taken_;
  Mutex taking_[kMutexes];

  Mutex mutex_;  // also held while memory is allocated or freed, except with kHuge
  BlockUses blocks_ GRAPHD_GUARDED_BY(mutex_);
  FullPages full_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<std::byte*> to_collapse_ GRAPHD_GUARDED_BY(mutex_);  // huge pages that are all in use
};

}  // namespace graphd::store
