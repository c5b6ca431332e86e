// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/rows/arena.h"
#include "store/rows/memory_budget.h"
#include "store/rows/page_db.h"
#include "store/rows/push.h"
#include "store/rows/row_order.h"
#include "store/rows/table_spec.h"
#include "store/rows/undo_log.h"

// This machine's rows of one distributed tensor or embedding. Pages come into memory when they are
// first touched, from RocksDB or, if they were never written, from the initialiser, and go again
// where memory is bounded (MemoryBudget). Thread-safe, as each method says; a page's contents and
// number belong to whoever holds its lock in the arena.

namespace graphd::store {

class Table : public Evictable {
 public:
  // What an applying thread keeps between calls. Not thread-safe.
  struct Scratch {
    std::vector<float> gradient;
    std::vector<std::byte> row;
    UndoLog* undo_log = nullptr;  // the thread's, where memory lasts
  };

  using RowIds = std::shared_ptr<const std::vector<int64_t>>;

  // Keeps a push's pages in memory. Not thread-safe.
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

  // `db` and `memory` outlive it. `ids`: of each row, for a spec whose first_id is -1. Throws
  // Error: kInvalid unless there is one for each row, and what Arena's constructor throws.
  Table(uint32_t id, TableSpec spec, PageDb& db, MemoryBudget& memory, RowIds ids,
        const Arena::Files* files = nullptr);
  ~Table() override;

  uint32_t id() const noexcept { return id_; }
  // As it is now, but for attributes, which it lacks. The reference lasts as long as the table.
  const TableSpec& spec() const noexcept { return *spec_.load(std::memory_order_acquire); }
  std::string attributes() const;
  const RowIds& row_ids() const noexcept { return ids_; }
  const Arena& arena() const noexcept { return arena_; }
  // Arena::JoinOnePage.
  bool JoinOnePage() {
    std::shared_lock states(states_mutex_);
    return arena_.JoinOnePage();
  }

  // Throws Error(kInvalid) unless the push suits: its rule, its rows' range, its payload's size.
  void CheckPush(const Push& push) const;

  // Rows in the order asked for, duplicates allowed; never a torn row. Any thread. Throws
  // Error(kInvalid) on a row out of range, and what loading a page throws.
  void Read(std::span<const int64_t> rows, std::byte* out);

  // Brings the rows' pages into memory; they may go again. Any thread. Throws what loading a page
  // throws.
  void Touch(std::span<const int64_t> rows);
  // Brings the pages of a push into memory and keeps them there. Waits for memory where it is
  // bounded, and only then looks at the order. Any thread but those that apply pushes. Throws what
  // loading a page and MemoryBudget::Reserve throw.
  Pins Pin(const Push& push, const RowOrder& order);

  // Applies the push to those of its rows that `picks` names, positions in the order of RowOrder.
  // Their pages are pinned, or nobody else is there, and no other call of Apply works on them now.
  // A page changes all at once, with the number that says which pushes it has seen; one that has
  // seen this push is passed over, so it may be replayed.
  void Apply(const Push& push, std::span<const uint32_t> picks, Scratch& scratch);

  // Looks at every page that RocksDB has, in one pass, and loads it if there is memory. Bad ones
  // are told to `bad` and stay absent. Returns the largest number of a push that a page has seen.
  uint64_t LoadAll(const std::function<void(uint64_t, const std::string&)>& bad);

  // For files that were kept, before anybody else comes: takes back what `undo` says that another
  // process was changing when it ended.
  void RollBack(const UndoLog& undo);
  // The same: goes on with the pages that are there. Those that saw a push behind `written_lsn` are
  // not in RocksDB as they are.
  void TakeOver(uint64_t written_lsn);

  // Write-back: the next page, from `page` on, that changed since it was taken last; num_pages if
  // none. Its bytes (values, then states) and its number are copied under its lock. Until Written,
  // which says that RocksDB has them, or PutBack, which says that it has not, it stays in memory.
  uint64_t NextDirty(uint64_t page) const noexcept;
  uint64_t TakePage(uint64_t page, std::vector<std::byte>& bytes);
  void Written(uint64_t page) noexcept;
  void PutBack(uint64_t page) noexcept { dirty_[page].store(kChanged, std::memory_order_relaxed); }

  uint64_t evictable_pages() const noexcept override { return arena_.num_pages(); }
  Outcome Evict(uint64_t page, uint64_t& freed) noexcept override;

  // Store's, which keeps them on the disk first: MakeStates takes memory for a state that the table
  // is to have in place of none, AdoptStates gives it to the rows, zero at first. One thread.
  Arena::States MakeStates(OptimizerState state) const;
  void AdoptStates(OptimizerState state, Arena::States states);
  void SetAttributes(const std::string& attributes);

  // Arena::restores, and what sets it: one thread at a time.
  uint64_t restores() const noexcept { return arena_.restores(); }
  void SetRestoring(bool restoring) noexcept { arena_.SetRestoring(restoring); }

  // Memory that its pages take.
  uint64_t resident_bytes() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t page_bytes() const noexcept { return spec().page_bytes(); }

 private:
  enum Dirty : uint8_t { kClean, kChanged, kTaken };  // kTaken: and maybe not yet in RocksDB

  uint64_t LockLoaded(uint64_t page);
  void BringIn(uint64_t page);
  void Load(uint64_t page, MemoryBudget::Room& room);
  void Reserve(uint64_t page, MemoryBudget::Room& room);
  uint64_t MostOf(uint64_t page);
  void PinPage(uint64_t page);
  void Touched(uint64_t page) noexcept {
    if (memory_.bounded() && touched_[page].load(std::memory_order_relaxed) == 0) {
      touched_[page].store(1, std::memory_order_relaxed);
    }
  }
  void FillPage(uint64_t page, std::span<const std::byte> bytes);
  template <size_t kLines>  // of a row (WithLines)
  void ApplyEach(const Push& push, std::span<const uint32_t> picks, Scratch& scratch);
  void ApplyRow(const Push& push, std::span<const uint32_t> same, Scratch& scratch);
  void LoadRowAndState(const Push& push, uint32_t pick);
  const float* Gradient(const Push& push, std::span<const uint32_t> same, Scratch& scratch) const;
  void CheckRow(int64_t row) const;
  size_t state_bytes() const noexcept { return arena_.shape().state_floats * sizeof(float); }
  size_t BytesOf(uint64_t page) const noexcept;

  const uint32_t id_;
  // As it was opened, and with the state that it was given later.
  const TableSpec first_spec_;
  TableSpec later_spec_;
  std::atomic<const TableSpec*> spec_ = &first_spec_;
  const RowIds ids_;
  const std::string named_;  // NamedTable
  PageDb& db_;
  MemoryBudget& memory_;
  const size_t elements_, row_bytes_;
  // Held shared by whoever uses the arena's states, and alone by AdoptStates.
  std::shared_mutex states_mutex_;
  Arena arena_;
  std::vector<std::atomic<uint8_t>> dirty_;
  // Where memory is bounded: who is in work on a page, and whether it was read or written since the
  // clock's hand passed it (by the daemon: it can't see who reads mapped memory).
  std::vector<std::atomic<uint32_t>> pins_;
  std::vector<std::atomic<uint8_t>> touched_;
  std::atomic<uint64_t> used_ = 0;
  mutable std::mutex attributes_mutex_;
  std::string attributes_;
};

}  // namespace graphd::store
