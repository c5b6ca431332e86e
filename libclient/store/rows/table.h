// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "store/rows/arena.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/rows/push.h"
#include "store/rows/row_order.h"
#include "store/rows/table_spec.h"
#include "store/rows/undo_log.h"

// The rows of one distributed tensor or embedding in one partition. Pages are loaded when they are
// first used, or before (TablePreparer). They come from RocksDB or, if they were never written
// there, from the initialiser. With a memory budget (MemoryBudget), pages are also evicted. Any
// thread may call any method, unless a comment says otherwise. The lock of a page in the arena
// guards its rows and its sequence number.

namespace graphd::store {

class Table : public Evictable {
 public:
  // The buffers that an applying thread reuses between calls. Not thread-safe.
  struct Scratch {
    std::vector<float> gradient;
    std::vector<std::byte> row;
    UndoLog* undo_log = nullptr;  // the thread's, with a PersistentArena
  };

  using RowIds = std::shared_ptr<const std::vector<int64_t>>;

  // The pins of a push's pages, which stay in memory while this object exists. Not thread-safe.
  class Pins {
   public:
    Pins() = default;
    Pins(Pins&& o) noexcept
        : table_(std::exchange(o.table_, nullptr)),
          pages_(std::move(o.pages_)),
          reserved_(std::exchange(o.reserved_, 0)) {}
    Pins& operator=(Pins&&) = delete;
    ~Pins() { Release(); }
    void Release() noexcept;

   private:
    friend class Table;
    Table* table_ = nullptr;
    std::vector<uint64_t> pages_;
    uint64_t reserved_ = 0;
  };

  // `db` and `memory` outlive the table. `ids` has the id of each row, if first_id is -1. `files`
  // is as for Arena. Throws Error(kInvalid) if there is not one id per row, and what the
  // constructor of Arena throws.
  Table(uint32_t id, TableSpec spec, PageDb& db, MemoryBudget& memory, RowIds ids,
        const Arena::Files* files = nullptr);
  ~Table() override;

  uint32_t id() const noexcept { return id_; }
  // Returns the current description, without attributes. The reference is valid as long as the
  // table.
  const TableSpec& spec() const noexcept { return *spec_.load(std::memory_order_acquire); }
  std::string attributes() const;
  const RowIds& row_ids() const noexcept { return ids_; }
  const Arena& arena() const noexcept { return arena_; }
  // Records that RocksDB has none of the table's pages. May be called only before other threads use
  // the table.
  void SetNew() noexcept { new_ = true; }
  // Loads pages that are not in memory, from `page` on, ahead of need: about as many as fit in a
  // huge page. Returns the page after the last one, or num_pages. Throws as Touch.
  uint64_t Prepare(uint64_t page);
  // Sets whether a thread is calling Prepare for all pages. If so, Read computes the first values
  // of rows that were never used, instead of loading their pages.
  void SetPreparing(bool preparing) noexcept {
    preparing_.store(preparing, std::memory_order_relaxed);
  }
  bool is_preparing() const noexcept { return preparing_.load(std::memory_order_relaxed); }
  // Returns approximately the number that resident_bytes() will return when all pages are loaded,
  // or 0 if no thread is calling Prepare for all pages.
  uint64_t preparing_bytes() const noexcept;
  // See ArrayMemory::CollapseOnePage.
  bool CollapseOnePage() {
    const ReaderLock states(states_mutex_);
    return arena_.CollapseOnePage();
  }

  // Throws Error(kInvalid) if the rule does not suit the table, a row is out of range or the
  // payload has the wrong size, and Error(kOverloaded) if there are too many rows.
  void CheckPush(const Push& push) const;

  // Reads rows in the order of `rows`, which may have duplicates. A row is never torn. Loads pages
  // that are not in memory, but not always after SetPreparing(true). Throws Error: kInvalid if a
  // row is out of range; kCorrupt, kIo, kOverloaded if a page can't be loaded.
  void Read(std::span<const int64_t> rows, std::byte* out);

  // Loads the pages of the rows; they may be evicted again. Throws as Read if a page can't be
  // loaded.
  void Touch(std::span<const int64_t> rows);
  // Loads the pages of a push and keeps them in memory. With a memory budget, it waits for memory,
  // so that threads that apply pushes must not call it. Without a memory budget, `order` is not
  // used. Throws what Read throws if a page can't be loaded, and what MemoryBudget::Reserve throws.
  Pins Pin(const Push& push, const RowOrder& order);

  // Applies the push to the rows at `positions` in the push, which are in the order of RowOrder.
  // The pages of the rows must be pinned, unless no other thread uses the table. No other call of
  // Apply may change these pages at the same time. A page changes atomically, together with the
  // sequence number of its last push. A page whose sequence number is not below that of the push
  // has the push already and is skipped, so a push may be replayed. Throws Error(kCorrupt) if the
  // memory was truncated; the push may be applied in part then.
  void Apply(const Push& push, std::span<const uint32_t> positions, Scratch& scratch);

  // Reads every page that RocksDB has, in one pass, and loads it if there is memory. Damaged pages
  // are reported to bad(page, why) and stay absent. Returns the largest sequence number of a page.
  // Throws Error(kIo).
  uint64_t LoadAll(const std::function<void(uint64_t, const std::string&)>& bad);

  // Takes over the pages in files that were kept, undoes the changes that an earlier process had
  // not finished when it ended, and returns the largest sequence number of a page. May be called
  // only before other threads use the table. Pages with a push after `written_lsn` are marked as
  // changed, because RocksDB has an older version of them. Throws what Arena::TakeOver throws.
  uint64_t TakeOver(uint64_t written_lsn, std::span<const std::unique_ptr<UndoLog>> undo_logs);
  // Returns the pages that an earlier process was changing when it ended, and that no undo log can
  // roll back. May be called only before TakeOver.
  std::vector<uint64_t> PagesWithoutUndo(std::span<const std::unique_ptr<UndoLog>> undo_logs) const;

  // See Arena::WhatHappened and Arena::damaged. In a damaged table, rows that were lost are read
  // from RocksDB, with the values of the last write-back.
  std::string WhatHappened();
  bool damaged();

  // These functions are for the write-back. NextDirty returns the next page, from `page` on, that
  // has changed since it was last taken, or num_pages if there is none. TakePage copies the bytes
  // of a page (values, then states) under the page's lock and returns the page's sequence number.
  // The page then stays in memory until the caller calls Written, when RocksDB has the page, or
  // PutBack, when it could not be written. TakePage throws Error(kCorrupt) if the table is damaged.
  uint64_t NextDirty(uint64_t page) const noexcept;
  // Returns the bytes of all pages that NextDirty would return.
  uint64_t ChangedBytes() const noexcept;
  uint64_t TakePage(uint64_t page, std::vector<std::byte>& bytes);
  void Written(uint64_t page) noexcept;
  void PutBack(uint64_t page) noexcept { dirty_[page].store(kChanged, std::memory_order_relaxed); }

  uint64_t evictable_pages() const noexcept override { return arena_.num_pages(); }
  Outcome Evict(uint64_t page, uint64_t& freed) noexcept override;

  // These functions change the description. One thread at a time calls them, and stores the new
  // description on the disk before it changes the table. MakeStates allocates the state of a table
  // that has none; AdoptStates gives it to the rows, as zeros, and Discard frees it instead. Both
  // throw Error(kOverloaded).
  Arena::States MakeStates(OptimizerState state) const;
  void AdoptStates(OptimizerState state, Arena::States states);
  static void Discard(const Arena::States& states) noexcept { states.RemoveFile(); }
  void SetAttributes(const std::string& attributes);

  // See Arena::restores. One thread at a time calls SetRestoring.
  uint64_t restores() const noexcept { return arena_.restores(); }
  void SetRestoring(bool restoring) noexcept { arena_.SetRestoring(restoring); }

  // Returns the memory that the resident pages take.
  uint64_t resident_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t page_bytes() const noexcept { return spec().page_bytes(); }

 private:
  enum Dirty : uint8_t { kClean, kChanged, kWriting };  // kWriting: taken, not yet Written

  void ReadAll(std::span<const int64_t> rows, std::byte* out);
  void RollBack(const UndoLog& undo);
  void CheckUndamaged() const GRAPHD_REQUIRES_SHARED(states_mutex_);
  uint64_t LockLoaded(uint64_t page);
  void MakeResident(uint64_t page);
  void LoadIfAbsent(uint64_t page);
  void Load(uint64_t page, MemoryBudget::Allocation& memory) GRAPHD_REQUIRES_SHARED(states_mutex_);
  void Reserve(uint64_t page, MemoryBudget::Allocation& memory)
      GRAPHD_REQUIRES_SHARED(states_mutex_);
  uint64_t MaxBytesOf(uint64_t page);
  void PinPage(uint64_t page);
  void MarkReferenced(uint64_t page) noexcept {
    if (memory_.bounded() && referenced_[page].load(std::memory_order_relaxed) == 0) {
      referenced_[page].store(1, std::memory_order_relaxed);
    }
  }
  void FillPage(uint64_t page, std::span<const std::byte> bytes)
      GRAPHD_REQUIRES_SHARED(states_mutex_);
  void FillWithFirstValues(uint64_t page, std::vector<std::byte>& buffer)
      GRAPHD_REQUIRES_SHARED(states_mutex_);
  void FirstValues(int64_t row, std::span<std::byte> out) const;
  void ReadRow(int64_t row, std::byte* out);
  // Returns whether all pages that are not in memory have never been in memory or in RocksDB. If
  // the memory was truncated, this may be wrong for pages that were lost.
  bool AbsentPagesAreUnused() const noexcept { return new_ && !memory_.bounded(); }
  template <size_t kLines>  // cache lines of a row (WithLines)
  void ApplyEach(const Push& push, std::span<const uint32_t> positions, Scratch& scratch)
      GRAPHD_REQUIRES_SHARED(states_mutex_);
  void ApplyRow(const Push& push, std::span<const uint32_t> same, Scratch& scratch)
      GRAPHD_REQUIRES_SHARED(states_mutex_);
  void LoadRowAndState(const Push& push, uint32_t position) GRAPHD_REQUIRES_SHARED(states_mutex_);
  const float* Gradient(const Push& push, std::span<const uint32_t> same, Scratch& scratch) const;
  void CheckRow(int64_t row) const;
  size_t state_bytes() const noexcept GRAPHD_REQUIRES_SHARED(states_mutex_) {
    return arena_.shape().state_floats * sizeof(float);
  }
  size_t BytesOf(uint64_t page) const noexcept GRAPHD_REQUIRES_SHARED(states_mutex_);

  const uint32_t id_;
  // The description when the table was opened, and the description with the optimiser state that
  // was added later.
  const TableSpec first_spec_;
  TableSpec later_spec_;
  std::atomic<const TableSpec*> spec_ = &first_spec_;
  const RowIds ids_;
  const std::string named_;  // NamedTable
  PageDb& db_;
  MemoryBudget& memory_;
  const size_t elements_, row_bytes_;
  bool new_ = false;  // see SetNew
  std::atomic<bool> preparing_ = false;
  // Held shared while the arena's states are used, and exclusively by AdoptStates. Taken before a
  // page's lock and before the mutexes of arena_ and memory_.
  SharedMutex states_mutex_;
  Arena arena_;
  std::vector<std::atomic<uint8_t>> dirty_;
  // For each page, if there is a memory budget: the number of pushes that use it, and whether this
  // process has read or written it since the hand of MemoryBudget's clock last passed it. (Reads by
  // processes that map the memory are not seen.)
  std::vector<std::atomic<uint32_t>> pins_;
  std::vector<std::atomic<uint8_t>> referenced_;
  std::atomic<uint64_t> used_ = 0;
  mutable Mutex attributes_mutex_;
  std::string attributes_ GRAPHD_GUARDED_BY(attributes_mutex_);
};

}  // namespace graphd::store
