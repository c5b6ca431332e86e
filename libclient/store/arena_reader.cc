// SPDX-License-Identifier: Apache-2.0
#include "store/arena_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <numeric>

#include "base/large_pages.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr size_t kRowsAhead = 8;                   // as GatherRows has it
constexpr int kMostWaits = Backoff::kSpins + 150;  // some ten milliseconds

}  // namespace

ArenaReader::ArenaReader(UniqueFd fd, int64_t rows, size_t row_bytes)
    : rows_(rows), row_bytes_(row_bytes) {
  const std::optional<uint64_t> bytes = ArenaBytes(rows, row_bytes);
  if (!bytes || row_bytes == 0) {
    Throw(ErrorCode::kInvalid, "a table can't have ", rows, " rows of ", row_bytes, " bytes");
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) ThrowErrno("can't look at", "a table's memory");
  if (static_cast<uint64_t>(status.st_size) != *bytes) {
    Throw(ErrorCode::kInvalid, "the memory that came for a table of ", rows, " rows of ", row_bytes,
          " bytes has ", status.st_size, " bytes and should have ", *bytes,
          ": the daemon is of another version");
  }
  mapped_ = *bytes;
  std::byte* base = MapAligned(fd.get(), mapped_, PROT_READ, MAP_SHARED);
  if (base == nullptr) {
    Throw(ErrorCode::kOverloaded, "can't map a table's ", HumanBytes(mapped_));
  }
  words_ = reinterpret_cast<const std::atomic<uint64_t>*>(base);
  values_ = base + ArenaValuesOffset(rows);
}

ArenaReader::~ArenaReader() { ::munmap(const_cast<std::atomic<uint64_t>*>(words_), mapped_); }

bool ArenaReader::TryRead(int64_t row, std::byte* out) const noexcept {
  return ReadRow(word(row), value(row), row_bytes_, out, kMostWaits);
}

void ArenaReader::Read(std::span<const int64_t> rows, std::span<const int64_t> to, std::byte* out,
                       std::vector<uint32_t>& missing) const {
  for (const int64_t row : rows) {
    if (row < 0 || row >= rows_) {
      Throw(ErrorCode::kInvalid, "the table has no row ", row, " here; it has ", rows_);
    }
  }
  missing.clear();
  const uint64_t restores = words_[ArenaPages(rows_)].load(std::memory_order_acquire);
  for (size_t i = 0; restores % 2 == 0 && i < rows.size(); i++) {
    if (i + kRowsAhead < rows.size()) {
      __builtin_prefetch(&word(rows[i + kRowsAhead]));
      PrefetchBytes(value(rows[i + kRowsAhead]), row_bytes_);
    }
    const size_t target = to.empty() ? i : static_cast<size_t>(to[i]);
    if (!TryRead(rows[i], out + target * row_bytes_)) missing.push_back(static_cast<uint32_t>(i));
  }
  if (restores % 2 == 0 && words_[ArenaPages(rows_)].load(std::memory_order_acquire) == restores) {
    return;
  }
  missing.resize(rows.size());
  std::iota(missing.begin(), missing.end(), 0U);
}

}  // namespace graphd::store
