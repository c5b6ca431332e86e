// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/threads/mutex.h"
#include "store/rows/block_uses.h"
#include "store/rows/full_pages.h"

namespace graphd::store {

// The memory of an array of table pages, which is allocated when the pages are first used. The
// array is address space that was mapped before, either anonymous memory or a file. Thread-safe.
class ArrayMemory {
 public:
  enum class Pages : uint8_t {
    kSmall,      // blocks of 4 KiB, which can be freed again
    kCollapsed,  // blocks of 4 KiB; CollapseOnePage makes huge pages where all blocks are in use
    // Groups of huge pages, and blocks of 4 KiB where there is no room for a group. Allocating 1.25
    // GB takes a tenth of a second, instead of a second for small pages.
    kHuge,
  };
  static constexpr uint64_t kGroup = 8 * kHugePage;
  static constexpr uint64_t kLeastHuge = 4 * kGroup;  // smaller arrays should not be kHuge

  struct Functions {
    // Allocates these bytes of the file, so that a shortage is Error(kOverloaded) and not SIGBUS.
    // Does nothing for anonymous memory.
    std::function<void(uint64_t begin, uint64_t bytes)> allocate = [](uint64_t, uint64_t) {};
    // Frees memory that no page uses any more. Does not throw.
    std::function<void(uint64_t begin, uint64_t bytes)> release = [](uint64_t, uint64_t) {};
    // Returns how many bytes may be allocated before they are needed. Called only with kHuge.
    std::function<uint64_t()> room = [] { return UINT64_MAX; };
  };
  // `collapses` tells whether CollapseOnePage finds pages to collapse; it may be true only with
  // kCollapsed.
  ArrayMemory(std::byte* data, uint64_t bytes, Pages pages, bool collapses, Functions functions);
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  Pages pages() const noexcept { return pages_; }

  // Allocates the memory of a table page from byte `begin` to `end`, and adds the bytes that no
  // other page had allocated to `taken`. Throws what `allocate` throws; then the page has no
  // memory, but groups of huge pages that were allocated for it stay. Calls of Take, Count and Give
  // for one table page must not overlap.
  void Take(uint64_t begin, uint64_t end, uint64_t& taken);
  // Counts a table page whose memory is allocated already, and returns those of its bytes that were
  // not counted for other pages. Must not be called with kHuge.
  uint64_t Count(uint64_t begin, uint64_t end);
  // Undoes Take. Returns the bytes that it frees.
  uint64_t Give(uint64_t begin, uint64_t end) noexcept;
  // Returns an upper bound of the bytes that Take adds to `taken`.
  uint64_t MaxBytes(uint64_t begin, uint64_t end) const noexcept;

  // Reports that a table page whose memory was taken stays in use, so that its huge page may be
  // collapsed. Must be called once for each page.
  void SetUsed(uint64_t begin, uint64_t end);
  // Collapses small pages into a huge page, if there is a huge page all of whose blocks are in use
  // and that was not collapsed yet. Returns false if there is none.
  bool CollapseOnePage();

 private:
  enum Group : uint8_t { kUnused, kTaken, kInBlocks };

  template <class F>
  void EachPart(uint64_t begin, uint64_t end, const F& f) const;
  bool TakeGroup(uint64_t group, uint64_t& taken);
  void TakeBlocks(uint64_t begin, uint64_t end, uint64_t& taken);

  std::byte* const data_;
  const uint64_t bytes_;
  const Pages pages_;
  const Functions functions_;

  // With kHuge, groups_ has the state of each group. While a group is being allocated, one of the
  // mutexes taking_ is held, so that a call hardly ever waits for the allocation of another group.
  static constexpr size_t kMutexes = 64;
  std::vector<std::atomic<Group>> groups_;
  Mutex taking_[kMutexes];

  Mutex mutex_;  // also held while blocks are allocated or freed
  BlockUses blocks_ GRAPHD_GUARDED_BY(mutex_);
  FullPages full_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<std::byte*> to_collapse_ GRAPHD_GUARDED_BY(mutex_);  // huge pages that are all in use
};

}  // namespace graphd::store
