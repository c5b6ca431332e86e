// SPDX-License-Identifier: Apache-2.0
#include "store/rows/table.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/index.h"
#include "base/strings.h"
#include "store/rows/initializer.h"

namespace graphd::store {
namespace {

// The number of rows by which Apply prefetches ahead the value, the state and the gradient of a
// row. Those of two rows are already more than a core can fetch at a time.
constexpr size_t kApplyAhead = 2;
constexpr size_t kPagesAhead = 8;  // the same for the word and other data of a row's page

uint64_t PageOf(int64_t row) { return static_cast<uint64_t>(row / kPageRows); }

TableSpec WithoutAttributes(TableSpec spec) {
  spec.attributes.clear();
  return spec;
}

}  // namespace

Table::Table(uint32_t id, TableSpec spec, PageDb& db, MemoryBudget& memory, RowIds ids,
             const Arena::Files* files)
    : id_(id),
      first_spec_(WithoutAttributes(spec)),
      ids_(std::move(ids)),
      named_(NamedTable(spec.name)),
      db_(db),
      memory_(memory),
      elements_(spec.row_elements()),
      row_bytes_(spec.row_bytes()),
      arena_("graphd " + named_.substr(0, 200),
             {spec.rows, row_bytes_, StateFloats(spec.state, elements_), memory.bounded()}, files),
      dirty_(arena_.num_pages()),
      pins_(memory.bounded() ? arena_.num_pages() : 0),
      referenced_(memory.bounded() ? arena_.num_pages() : 0),
      attributes_(std::move(spec.attributes)) {
  const size_t have = ids_ == nullptr ? 0 : ids_->size();
  if (first_spec_.first_id == -1 && have != Index(first_spec_.rows)) {
    Throw(ErrorCode::kInvalid, named_, " has ", first_spec_.rows, " rows here and ids for ", have,
          " of them; is its graph another one?");
  }
  memory_.Add(this);
}

Table::~Table() {
  memory_.Remove(this);
  memory_.Free(used_);
}

std::string Table::attributes() const {
  const MutexLock lock(attributes_mutex_);
  return attributes_;
}

void Table::SetAttributes(const std::string& attributes) {
  const MutexLock lock(attributes_mutex_);
  attributes_ = attributes;
}

Arena::States Table::MakeStates(OptimizerState state) const {
  return arena_.MakeStates(StateFloats(state, elements_));
}

void Table::AdoptStates(OptimizerState state, Arena::States states) {
  const WriterLock lock(states_mutex_);
  const uint64_t taken = arena_.AdoptStates(StateFloats(state, elements_), std::move(states));
  later_spec_ = first_spec_;
  later_spec_.state = state;
  used_ += taken;
  memory_.ForceAllocate(taken);
  spec_.store(&later_spec_, std::memory_order_release);
}

void Table::CheckRow(int64_t row) const {
  if (row < 0 || row >= first_spec_.rows) {
    Throw(ErrorCode::kInvalid, named_, " has no row ", row, " here; it has ", first_spec_.rows);
  }
}

void Table::CheckPush(const Push& push) const {
  const TableSpec& spec = this->spec();
  CheckRule(push.rule, spec.dtype, spec.state);
  if (push.rows.size() >= UINT32_MAX) {
    Throw(ErrorCode::kOverloaded, named_, ": ", push.rows.size(),
          " rows in one push; send fewer at once");
  }
  const size_t state = StateFloats(spec.state, elements_) * sizeof(float);
  const auto suits = [&](size_t row_bytes) {
    uint64_t wanted = 0;
    return !__builtin_mul_overflow(push.rows.size(), row_bytes, &wanted) &&
           wanted == push.payload.size();
  };
  if (!suits(row_bytes_) && !(push.rule.kind == UpdateKind::kLoad && suits(row_bytes_ + state))) {
    Throw(ErrorCode::kInvalid, named_, ": ", push.rows.size(), " rows of ", row_bytes_,
          " bytes came with ", push.payload.size(), " bytes");
  }
  for (const int64_t row : push.rows) CheckRow(row);
}

size_t Table::BytesOf(uint64_t page) const noexcept {
  return Index(arena_.rows_of(page)) * (row_bytes_ + state_bytes());
}

// Loads the page if it is not in memory, and locks it. The caller must hold no lock for which
// MemoryBudget::Allocate could wait. Returns the word that the page had before it was locked.
uint64_t Table::LockLoaded(uint64_t page) {
  for (;;) {
    const uint64_t word = arena_.Lock(page);
    if ((word & kPageResident) != 0) return word;
    arena_.UnlockUnchanged(page, word);
    MakeResident(page);
  }
}

// Loads the page unless it is in memory. Memory is allocated first, while no lock is held.
void Table::MakeResident(uint64_t page) {
  MemoryBudget::Allocation memory = memory_.Allocate(MaxBytesOf(page), named_);
  const ReaderLock states(states_mutex_);
  const uint64_t word = arena_.Lock(page);
  if ((word & kPageResident) != 0) {
    arena_.UnlockUnchanged(page, word);
    return;
  }
  try {
    Load(page, memory);
  } catch (...) {
    arena_.UnlockUnchanged(page, word);
    throw;
  }
  arena_.Unlock(page, word);
}

uint64_t Table::MaxBytesOf(uint64_t page) {
  const ReaderLock states(states_mutex_);
  return arena_.MaxBytesOf(page);
}

void Table::Reserve(uint64_t page, MemoryBudget::Allocation& memory) {
  uint64_t taken = 0;
  const auto count = [&] {
    memory.Use(taken);
    used_ += taken;
  };
  try {
    arena_.Reserve(page, taken);
  } catch (...) {
    count();
    throw;
  }
  count();
  MarkReferenced(page);
}

void Table::Load(uint64_t page, MemoryBudget::Allocation& memory) {
  std::vector<std::byte> bytes(row_bytes_);
  std::optional<uint64_t> lsn;
  if (!AbsentPagesAreUnused() || arena_.damaged()) {
    bytes.resize(BytesOf(page));
    try {
      // The page may have been written before the table had state.
      lsn = db_.GetPage(id_, page, bytes, Index(arena_.rows_of(page)) * row_bytes_);
    } catch (const Error& error) {
      Throw(error.code(), named_, ": ", error.what(),
            "; restore a checkpoint, or drop the table and write these rows again");
    }
  }
  Reserve(page, memory);
  arena_.SetLsn(page, lsn.value_or(0));
  if (lsn) {
    FillPage(page, bytes);
  } else {
    FillWithFirstValues(page, bytes);
  }
}

// Fills the page with the first values of its rows. Computes each row in `buffer`, which the caller
// has allocated, because an allocation here could fail after the page's memory was counted.
void Table::FillWithFirstValues(uint64_t page, std::vector<std::byte>& buffer) {
  const int64_t begin = static_cast<int64_t>(page) * kPageRows;
  const int64_t end = begin + arena_.rows_of(page);
  // Memory that was never used is zero.
  const size_t states = Index(end - begin) * state_bytes();
  if (states != 0 && (!AbsentPagesAreUnused() || arena_.damaged())) {
    std::memset(arena_.state(begin), 0, states);
  }
  const std::span<std::byte> values(buffer.data(), row_bytes_);
  for (int64_t row = begin; row < end; row++) {
    FirstValues(row, values);
    arena_.Write(row, values.data());
  }
}

void Table::FirstValues(int64_t row, std::span<std::byte> out) const {
  const TableSpec& spec = first_spec_;
  const int64_t id = ids_ != nullptr ? (*ids_)[Index(row)] : spec.first_id + row;
  FillRow(spec.initializer, spec.dtype, id, out);
}

void Table::FillPage(uint64_t page, std::span<const std::byte> bytes) {
  const int64_t begin = static_cast<int64_t>(page) * kPageRows;
  const int64_t rows = arena_.rows_of(page);
  for (int64_t i = 0; i < rows; i++) {
    arena_.Write(begin + i, bytes.data() + Index(i) * row_bytes_);
  }
  const size_t values = Index(rows) * row_bytes_;
  if (const size_t size = Index(rows) * state_bytes(); size != 0) {
    // If the state is missing in `bytes`, the page was written before the table had state.
    const size_t there = std::min(size, bytes.size() - values);
    std::memcpy(arena_.state(begin), bytes.data() + values, there);
    std::memset(reinterpret_cast<std::byte*>(arena_.state(begin)) + there, 0, size - there);
  }
}

uint64_t Table::LoadAll(const std::function<void(uint64_t, const std::string&)>& bad) {
  uint64_t last = 0;
  db_.EachPage(
      id_,
      [&](uint64_t page, uint64_t lsn, std::span<const std::byte> bytes) {
        const ReaderLock states(states_mutex_);
        if (page >= arena_.num_pages() ||
            (bytes.size() != BytesOf(page) &&
             bytes.size() != Index(arena_.rows_of(page)) * row_bytes_)) {
          bad(page, "it is not a page of this table");
          return;
        }
        last = std::max(last, lsn);
        std::optional<MemoryBudget::Allocation> memory =
            memory_.TryAllocate(arena_.MaxBytesOf(page));
        if (!memory) return;
        const uint64_t word = arena_.Lock(page);
        Reserve(page, *memory);
        arena_.SetLsn(page, lsn);
        FillPage(page, bytes);
        arena_.Unlock(page, word);
      },
      bad);
  return last;
}

void Table::RollBack(const UndoLog& undo) {
  const uint64_t page = undo.page();
  if (page >= arena_.num_pages() || (arena_.word(page).load() & kPageLocked) == 0) return;
  const ReaderLock states(states_mutex_);
  const size_t bytes = state_bytes();
  undo.EachRow(row_bytes_, bytes, [&](int64_t row, const std::byte* value, const std::byte* state) {
    if (PageOf(row) != page || row >= first_spec_.rows) return;
    arena_.Write(row, value);
    if (state != nullptr && bytes != 0) std::memcpy(arena_.state(row), state, bytes);
  });
  arena_.SetLsn(page, undo.lsn());
}

std::vector<uint64_t> Table::PagesWithoutUndo(
    std::span<const std::unique_ptr<UndoLog>> undo_logs) const {
  std::vector<uint64_t> pages;
  for (uint64_t page = 0; page < arena_.num_pages(); page++) {
    constexpr uint64_t kBeingChanged = kPageLocked | kPageResident;
    if ((arena_.word(page).load() & kBeingChanged) != kBeingChanged) continue;
    const bool has_undo = std::any_of(undo_logs.begin(), undo_logs.end(), [&](const auto& undo) {
      return undo->any() && undo->table() == id_ && undo->page() == page;
    });
    if (!has_undo) pages.push_back(page);
  }
  return pages;
}

uint64_t Table::TakeOver(uint64_t written_lsn,
                         std::span<const std::unique_ptr<UndoLog>> undo_logs) {
  const uint64_t taken = arena_.TakeOver([&] {
    for (const auto& undo : undo_logs) {
      if (undo->any() && undo->table() == id_) RollBack(*undo);
    }
  });
  used_ += taken;
  memory_.ForceAllocate(taken);
  uint64_t last = 0;
  for (uint64_t page = 0; page < arena_.num_pages(); page++) {
    const uint64_t lsn = arena_.lsn(page);
    last = std::max(last, lsn);
    if (lsn > written_lsn) dirty_[page].store(kChanged, std::memory_order_relaxed);
  }
  return last;
}

std::string Table::WhatHappened() {
  const ReaderLock states(states_mutex_);
  return arena_.WhatHappened();
}

bool Table::damaged() {
  const ReaderLock states(states_mutex_);
  return arena_.damaged();
}

void Table::CheckUndamaged() const {
  if (!arena_.damaged()) return;
  Throw(ErrorCode::kCorrupt, named_, ": ", arena_.WhatHappened());
}

void Table::Read(std::span<const int64_t> rows, std::byte* out) {
  for (const int64_t row : rows) CheckRow(row);
  // If the memory was truncated, rows that were lost are read as zeros. In this case, the pages of
  // lost rows are marked as absent, and all rows are read again.
  for (uint64_t dropped = arena_.dropped_from();;) {
    ReadAll(rows, out);
    if (!arena_.rows_damaged()) return;
    arena_.DropDamaged();
    const uint64_t now = arena_.dropped_from();
    if (std::exchange(dropped, now) == now) return;
  }
}

void Table::ReadAll(std::span<const int64_t> rows, std::byte* out) {
  const size_t ahead = RowsAhead(row_bytes_);
  WithLines(row_bytes_, [&](auto lines) {
    for (size_t i = 0; i < rows.size(); i++) {
      if (i + ahead < rows.size()) {
        PrefetchBytes<lines>(arena_.value(rows[i + ahead]), row_bytes_);
      }
      ReadRow(rows[i], out + i * row_bytes_);
      MarkReferenced(PageOf(rows[i]));
    }
  });
}

// Reads a row, and loads its page if needed. While the TablePreparer loads the table's pages,
// computes the first values of a row that was never used instead of loading its page, so that a
// training step that reads many such rows does not have to wait for their pages.
void Table::ReadRow(int64_t row, std::byte* out) {
  while (!arena_.TryRead(row, out)) {
    if (is_preparing() && AbsentPagesAreUnused() && !arena_.rows_damaged()) {
      FirstValues(row, {out, row_bytes_});
      return;
    }
    MakeResident(PageOf(row));
  }
}

void Table::LoadIfAbsent(uint64_t page) {
  const uint64_t word = arena_.word(page).load(std::memory_order_acquire);
  if ((word & kPageResident) == 0) MakeResident(page);
}

void Table::Touch(std::span<const int64_t> rows) {
  for (const int64_t row : rows) LoadIfAbsent(PageOf(row));
}

uint64_t Table::preparing_bytes() const noexcept {
  if (!is_preparing()) return 0;
  const TableSpec& now = spec();
  return Index(now.rows) * (row_bytes_ + StateFloats(now.state, elements_) * sizeof(float));
}

uint64_t Table::Prepare(uint64_t page) {
  const uint64_t count = std::max<uint64_t>(kHugePage / page_bytes(), 1);
  const uint64_t end = std::min(page + count, arena_.num_pages());
  for (; page < end; page++) LoadIfAbsent(page);
  return page;
}

// Loads the page and keeps it in memory. This function pins the page before it reads the word, and
// Evict locks the word before it reads the pins. So at least one of them sees what the other did.
void Table::PinPage(uint64_t page) {
  pins_[page].fetch_add(1, std::memory_order_seq_cst);
  const uint64_t word = arena_.word(page).load(std::memory_order_seq_cst);
  if ((word & (kPageResident | kPageLocked)) == kPageResident) return;
  arena_.UnlockUnchanged(page, LockLoaded(page));
}

Table::Pins Table::Pin(const Push& push, const RowOrder& order) {
  Pins pins;
  if (!memory_.bounded()) {
    Touch(push.rows);
    return pins;
  }
  std::vector<uint64_t> pages;
  uint64_t bytes = 0;
  {
    const ReaderLock states(states_mutex_);
    for (size_t lane = 0; lane < RowOrder::kLanes; lane++) {
      for (const uint32_t position : order.lane(lane)) {
        const uint64_t page = PageOf(push.rows[position]);
        if (!pages.empty() && pages.back() == page) continue;
        pages.push_back(page);
        bytes += arena_.MaxBytesOf(page);
      }
    }
  }
  memory_.Reserve(bytes, pages.size(), named_);
  pins.table_ = this;
  pins.reserved_ = bytes;
  pins.pages_.reserve(pages.size());
  for (const uint64_t page : pages) {
    pins.pages_.push_back(page);
    PinPage(page);
    MarkReferenced(page);
  }
  return pins;
}

void Table::Pins::Release() noexcept {
  if (table_ == nullptr) return;
  for (const uint64_t page : pages_) table_->pins_[page].fetch_sub(1, std::memory_order_release);
  pages_.clear();
  table_->memory_.Unreserve(std::exchange(reserved_, 0));
  table_ = nullptr;
}

Table::Outcome Table::Evict(uint64_t page, uint64_t& freed) noexcept {
  if ((arena_.word(page).load(std::memory_order_relaxed) & kPageResident) == 0) {
    return Outcome::kKept;
  }
  if (referenced_[page].load(std::memory_order_relaxed) != 0) {
    referenced_[page].store(0, std::memory_order_relaxed);
    return Outcome::kKept;
  }
  const ReaderLock states(states_mutex_);
  uint64_t word = 0;
  if (!arena_.TryLock(page, word)) return Outcome::kKept;
  Outcome outcome = Outcome::kKept;
  if (dirty_[page].load(std::memory_order_acquire) != kClean) {
    outcome = Outcome::kDirty;
  } else if ((word & kPageResident) != 0 && pins_[page].load(std::memory_order_seq_cst) == 0) {
    outcome = Outcome::kEvicted;
  }
  if (outcome != Outcome::kEvicted) {
    arena_.UnlockUnchanged(page, word);
    return outcome;
  }
  freed = arena_.Release(page);
  used_ -= freed;
  arena_.UnlockAbsent(page, word);
  return outcome;
}

void Table::Apply(const Push& push, std::span<const uint32_t> positions, Scratch& scratch) {
  const ReaderLock states(states_mutex_);
  scratch.gradient.resize(elements_);
  scratch.row.resize(row_bytes_);
  WithLines(row_bytes_, [&](auto lines) {
    states_mutex_.AssumeHeldShared();
    ApplyEach<lines>(push, positions, scratch);
  });
  CheckUndamaged();
  if (scratch.undo_log != nullptr && scratch.undo_log->damaged()) {
    Throw(ErrorCode::kCorrupt, named_, ": ", scratch.undo_log->Damage());
  }
}

template <size_t kLines>
void Table::ApplyEach(const Push& push, std::span<const uint32_t> positions, Scratch& scratch) {
  const auto row_of = [&](size_t i) { return push.rows[positions[i]]; };
  const size_t payload_bytes = push.rows.empty() ? 0 : push.payload.size() / push.rows.size();
  for (size_t i = 0; i < positions.size();) {
    const auto page = PageOf(row_of(i));
    const uint64_t word = arena_.Lock(page);
    if ((word & kPageResident) == 0) {
      // The pages were loaded before; they are gone if the memory was truncated meanwhile.
      arena_.UnlockUnchanged(page, word);
      CheckUndamaged();
      GRAPHD_CHECK(false, "pages were loaded before");
    }
    const bool seen = arena_.lsn(page) >= push.lsn;
    UndoLog* const undo = seen ? nullptr : scratch.undo_log;
    if (undo != nullptr) undo->Begin(id_, page, arena_.lsn(page), row_bytes_, state_bytes());
    while (i < positions.size() && PageOf(row_of(i)) == page) {
      size_t end = i + 1;
      while (end < positions.size() && row_of(end) == row_of(i)) end++;
      if (end - 1 + kPagesAhead < positions.size()) {
        const uint64_t ahead = PageOf(push.rows[positions[end - 1 + kPagesAhead]]);
        arena_.PrefetchPage(ahead);
        __builtin_prefetch(&dirty_[ahead], 1);
      }
      if (end - 1 + kApplyAhead < positions.size()) {
        const uint32_t ahead = positions[end - 1 + kApplyAhead];
        const int64_t row = push.rows[ahead];
        PrefetchBytesToWrite<kLines>(arena_.value(row), row_bytes_);
        PrefetchBytes<kLines>(push.payload.data() + ahead * payload_bytes, payload_bytes);
        const auto* const state = reinterpret_cast<const std::byte*>(arena_.state(row));
        if (state_bytes() == row_bytes_) {
          PrefetchBytesToWrite<kLines>(state, row_bytes_);
        } else {
          PrefetchBytesToWrite(state, state_bytes());
        }
      }
      if (undo != nullptr) {
        undo->Save(row_of(i), arena_.value(row_of(i)),
                   reinterpret_cast<const std::byte*>(arena_.state(row_of(i))));
      }
      if (!seen) ApplyRow(push, positions.subspan(i, end - i), scratch);
      i = end;
    }
    if (seen) {
      arena_.UnlockUnchanged(page, word);
    } else {
      arena_.SetLsn(page, push.lsn);
      if (undo != nullptr) undo->End();
      dirty_[page].store(kChanged, std::memory_order_relaxed);
      arena_.Unlock(page, word);
    }
  }
}

void Table::LoadRowAndState(const Push& push, uint32_t position) {
  const int64_t row = push.rows[position];
  const size_t bytes = push.payload.size() / push.rows.size();
  const std::byte* from = push.payload.data() + position * bytes;
  arena_.Write(row, from);
  if (bytes > row_bytes_) {
    std::memcpy(arena_.state(row), from + row_bytes_, bytes - row_bytes_);
  } else if (state_bytes() != 0) {
    std::memset(arena_.state(row), 0, state_bytes());
  }
}

// Applies the push to one row; `same` are its positions in the push.
void Table::ApplyRow(const Push& push, std::span<const uint32_t> same, Scratch& scratch) {
  if (push.rule.kind == UpdateKind::kLoad) return LoadRowAndState(push, same.back());
  const int64_t row = push.rows[same.front()];
  const auto payload = [&](uint32_t position) {
    return push.payload.data() + size_t{position} * row_bytes_;
  };
  if (push.rule.kind == UpdateKind::kSet) {
    arena_.Write(row, payload(same.back()));
    return;
  }
  std::span<std::byte> value{arena_.value(row), row_bytes_};
  if (!kWholeRows) {
    std::ranges::copy(value, scratch.row.begin());
    value = scratch.row;
  }
  if (push.rule.kind == UpdateKind::kAdd) {
    for (const uint32_t position : same) AddRow(first_spec_.dtype, payload(position), value);
  } else {
    Step(push.rule, elements_, Gradient(push, same, scratch),
         reinterpret_cast<float*>(value.data()), arena_.state(row));
  }
  if (!kWholeRows) arena_.Write(row, value.data());
}

const float* Table::Gradient(const Push& push, std::span<const uint32_t> same,
                             Scratch& scratch) const {
  const auto* all = reinterpret_cast<const float*>(push.payload.data());
  const auto gradient = [&](uint32_t position) { return all + position * elements_; };
  if (same.size() == 1) return gradient(same.front());
  std::copy_n(gradient(same.front()), elements_, scratch.gradient.data());
  for (const uint32_t position : same.subspan(1)) {
    const float* more = gradient(position);
    for (size_t k = 0; k < elements_; k++) scratch.gradient[k] += more[k];
  }
  if (push.rule.mean_of_duplicates != 0) {
    const auto count = static_cast<float>(same.size());
    for (float& sum : scratch.gradient) sum /= count;
  }
  return scratch.gradient.data();
}

uint64_t Table::ChangedBytes() const noexcept {
  const auto changed = std::count_if(dirty_.begin(), dirty_.end(), [](const auto& state) {
    return state.load(std::memory_order_relaxed) == kChanged;
  });
  return static_cast<uint64_t>(changed) * page_bytes();
}

uint64_t Table::NextDirty(uint64_t page) const noexcept {
  while (page < dirty_.size() && dirty_[page].load(std::memory_order_relaxed) != kChanged) page++;
  return page;
}

void Table::Written(uint64_t page) noexcept {
  uint8_t taken = kWriting;  // a page that has changed again stays kChanged
  dirty_[page].compare_exchange_strong(taken, kClean, std::memory_order_release,
                                       std::memory_order_relaxed);
}

uint64_t Table::TakePage(uint64_t page, std::vector<std::byte>& bytes) {
  const int64_t begin = static_cast<int64_t>(page) * kPageRows;
  const size_t values = Index(arena_.rows_of(page)) * row_bytes_;
  const ReaderLock states(states_mutex_);
  bytes.resize(BytesOf(page));
  const uint64_t word = arena_.Lock(page);
  dirty_[page].store(kWriting, std::memory_order_relaxed);
  const uint64_t lsn = arena_.lsn(page);
  std::memcpy(bytes.data(), arena_.value(begin), values);
  if (bytes.size() > values) {
    std::memcpy(bytes.data() + values, arena_.state(begin), bytes.size() - values);
  }
  arena_.UnlockUnchanged(page, word);
  if (arena_.damaged()) {
    PutBack(page);
    CheckUndamaged();
  }
  return lsn;
}

}  // namespace graphd::store
