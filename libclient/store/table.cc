// SPDX-License-Identifier: Apache-2.0
#include "store/table.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/index.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr size_t kReadAhead = 8;   // rows
constexpr size_t kApplyAhead = 4;  // rows, of which state and values are fetched

void Prefetch(const void* data, size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(begin + i);
}

}  // namespace

Table::Table(uint32_t id, TableSpec spec, PageDb& db)
    : id_(id),
      spec_(std::move(spec)),
      db_(db),
      elements_(spec_.row_elements()),
      row_bytes_(spec_.row_bytes()),
      state_floats_(StateFloats(spec_.state, elements_)),
      page_bytes_(static_cast<size_t>(kPageRows) * (row_bytes_ + state_floats_ * sizeof(float))),
      arena_("graphd-table:" + spec_.name.substr(0, 200), {spec_.rows, row_bytes_, state_floats_}),
      lsns_(arena_.num_pages()),
      dirty_(arena_.num_pages()) {}

void Table::CheckPush(const Push& push) const {
  CheckRule(push.rule, spec_.dtype, spec_.state);
  if (push.rows.size() >= UINT32_MAX) {
    Throw(ErrorCode::kOverloaded, "table '", spec_.name, "': ", push.rows.size(),
          " rows in one push; send fewer at once");
  }
  uint64_t wanted = 0;
  if (__builtin_mul_overflow(push.rows.size(), row_bytes_, &wanted) ||
      wanted != push.payload.size()) {
    Throw(ErrorCode::kInvalid, "table '", spec_.name, "': ", push.rows.size(), " rows of ",
          row_bytes_, " bytes came with ", push.payload.size(), " bytes");
  }
  for (const int64_t row : push.rows) {
    if (row < 0 || row >= spec_.rows) {
      Throw(ErrorCode::kInvalid, "table '", spec_.name, "' has no row ", row, " here; it has ",
            spec_.rows);
    }
  }
}

size_t Table::BytesOf(uint64_t page) const noexcept {
  return Index(arena_.rows_of(page)) * (row_bytes_ + state_floats_ * sizeof(float));
}

// The page's lock, with the page in memory.
uint64_t Table::LockLoaded(uint64_t page) {
  const uint64_t word = arena_.Lock(page);
  if ((word & Arena::kResident) != 0) return word;
  try {
    Load(page);
  } catch (...) {
    arena_.UnlockUnchanged(page, word);
    throw;
  }
  return word;
}

void Table::Load(uint64_t page) {
  arena_.Reserve(page);
  std::vector<std::byte> bytes(BytesOf(page));
  std::optional<uint64_t> lsn;
  try {
    lsn = db_.GetPage(id_, page, bytes);
  } catch (const Error& error) {
    Throw(error.code(), "table '", spec_.name, "': ", error.what(),
          "; restore a checkpoint, or write these rows anew after dropping the table");
  }
  if (!lsn) {
    const int64_t begin = static_cast<int64_t>(page) * kPageRows;
    for (int64_t i = 0; i < arena_.rows_of(page); i++) {
      FillRow(spec_.initializer, spec_.dtype, spec_.first_id + begin + i,
              {bytes.data() + Index(i) * row_bytes_, row_bytes_});
    }
  }
  lsns_[page] = lsn.value_or(0);
  FillPage(page, bytes);
}

void Table::FillPage(uint64_t page, std::span<const std::byte> bytes) {
  const int64_t begin = static_cast<int64_t>(page) * kPageRows;
  const int64_t rows = arena_.rows_of(page);
  for (int64_t i = 0; i < rows; i++) {
    arena_.Write(begin + i, bytes.data() + Index(i) * row_bytes_);
  }
  const size_t values = Index(rows) * row_bytes_;
  if (state_floats_ != 0) {
    std::memcpy(arena_.state(begin), bytes.data() + values, bytes.size() - values);
  }
  resident_pages_.fetch_add(1, std::memory_order_relaxed);
}

void Table::LoadAll(const std::function<void(uint64_t, const std::string&)>& bad) {
  db_.EachPage(
      id_,
      [&](uint64_t page, uint64_t lsn, std::span<const std::byte> bytes) {
        if (page >= arena_.num_pages() || bytes.size() != BytesOf(page)) {
          bad(page, "it is not a page of this table");
          return;
        }
        const uint64_t word = arena_.Lock(page);
        arena_.Reserve(page);
        lsns_[page] = lsn;
        FillPage(page, bytes);
        arena_.Unlock(page, word);
      },
      bad);
}

void Table::Read(std::span<const int64_t> rows, std::byte* out) {
  for (const int64_t row : rows) {
    if (row < 0 || row >= spec_.rows) {
      Throw(ErrorCode::kInvalid, "table '", spec_.name, "' has no row ", row, " here; it has ",
            spec_.rows);
    }
  }
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kReadAhead < rows.size()) Prefetch(arena_.value(rows[i + kReadAhead]), row_bytes_);
    std::byte* to = out + i * row_bytes_;
    while (!arena_.TryRead(rows[i], to)) {
      const auto page = static_cast<uint64_t>(rows[i] / kPageRows);
      arena_.Unlock(page, LockLoaded(page));
    }
  }
}

void Table::Touch(std::span<const int64_t> rows) {
  for (const int64_t row : rows) {
    const auto page = static_cast<uint64_t>(row / kPageRows);
    if ((arena_.word(page).load(std::memory_order_acquire) & Arena::kResident) == 0) {
      arena_.Unlock(page, LockLoaded(page));
    }
  }
}

void Table::Apply(const Push& push, std::span<const uint32_t> picks, Scratch& scratch) {
  scratch.gradient.resize(elements_);
  scratch.row.resize(row_bytes_);
  const auto row_of = [&](size_t i) { return push.rows[picks[i]]; };
  for (size_t i = 0; i < picks.size();) {
    const auto page = static_cast<uint64_t>(row_of(i) / kPageRows);
    const uint64_t word = arena_.Lock(page);
    GRAPHD_CHECK((word & Arena::kResident) != 0, "pages were touched before");
    const bool seen = lsns_[page] >= push.lsn;
    while (i < picks.size() && static_cast<uint64_t>(row_of(i) / kPageRows) == page) {
      size_t end = i + 1;
      while (end < picks.size() && row_of(end) == row_of(i)) end++;
      if (end - 1 + kApplyAhead < picks.size()) {
        const int64_t ahead = row_of(end - 1 + kApplyAhead);
        Prefetch(arena_.value(ahead), row_bytes_);
        if (state_floats_ != 0) Prefetch(arena_.state(ahead), state_floats_ * sizeof(float));
      }
      if (!seen) ApplyRow(push, picks.subspan(i, end - i), scratch);
      i = end;
    }
    if (seen) {
      arena_.UnlockUnchanged(page, word);
    } else {
      lsns_[page] = push.lsn;
      dirty_[page].store(1, std::memory_order_relaxed);
      arena_.Unlock(page, word);
    }
  }
}

// `same`: the positions that name one row.
void Table::ApplyRow(const Push& push, std::span<const uint32_t> same, Scratch& scratch) {
  const int64_t row = push.rows[same.front()];
  const auto payload = [&](uint32_t pick) {
    return push.payload.data() + size_t{pick} * row_bytes_;
  };
  if (push.rule.kind == UpdateKind::kSet) {
    arena_.Write(row, payload(same.back()));
    return;
  }
  if (push.rule.kind == UpdateKind::kAdd) {
    std::span<const std::byte> sum{arena_.value(row), row_bytes_};
    for (const uint32_t pick : same) {
      AddRow(spec_.dtype, sum, payload(pick), scratch.row.data());
      sum = scratch.row;
    }
  } else {
    Step(push.rule, elements_, Gradient(push, same, scratch),
         reinterpret_cast<const float*>(arena_.value(row)), arena_.state(row),
         reinterpret_cast<float*>(scratch.row.data()));
  }
  arena_.Write(row, scratch.row.data());
}

const float* Table::Gradient(const Push& push, std::span<const uint32_t> same,
                             Scratch& scratch) const {
  const auto* all = reinterpret_cast<const float*>(push.payload.data());
  const auto gradient = [&](uint32_t pick) { return all + pick * elements_; };
  if (same.size() == 1) return gradient(same.front());
  std::copy_n(gradient(same.front()), elements_, scratch.gradient.data());
  for (const uint32_t pick : same.subspan(1)) {
    const float* more = gradient(pick);
    for (size_t k = 0; k < elements_; k++) scratch.gradient[k] += more[k];
  }
  if (push.rule.mean_of_duplicates != 0) {
    const auto count = static_cast<float>(same.size());
    for (float& sum : scratch.gradient) sum /= count;
  }
  return scratch.gradient.data();
}

uint64_t Table::NextDirty(uint64_t page) const noexcept {
  while (page < dirty_.size() && dirty_[page].load(std::memory_order_relaxed) == 0) page++;
  return page;
}

uint64_t Table::TakePage(uint64_t page, std::vector<std::byte>& bytes) {
  const int64_t begin = static_cast<int64_t>(page) * kPageRows;
  const size_t values = Index(arena_.rows_of(page)) * row_bytes_;
  bytes.resize(BytesOf(page));
  const uint64_t word = arena_.Lock(page);
  dirty_[page].store(0, std::memory_order_relaxed);
  const uint64_t lsn = lsns_[page];
  std::memcpy(bytes.data(), arena_.value(begin), values);
  if (bytes.size() > values) {
    std::memcpy(bytes.data() + values, arena_.state(begin), bytes.size() - values);
  }
  arena_.UnlockUnchanged(page, word);
  return lsn;
}

}  // namespace graphd::store
