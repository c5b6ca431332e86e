// SPDX-License-Identifier: Apache-2.0
#include "store/rows/arena_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <numeric>

#include "base/huge_pages.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr int kMostWaits = Backoff::kSpins + 150;  // lasts some ten milliseconds

}  // namespace

ArenaReader::ArenaReader(UniqueFd fd, int64_t rows, size_t row_bytes)
    : rows_(rows), row_bytes_(row_bytes) {
  const std::optional<uint64_t> bytes = ArenaBytes(rows, row_bytes);
  if (!bytes || row_bytes == 0) {
    Throw(ErrorCode::kInvalid, "a table can't have ", rows, " rows of ", row_bytes, " bytes");
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) ThrowErrno("can't stat", "a table's memory");
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
  try {
    guard_ = MappingGuard(base, mapped_);
  } catch (...) {
    ::munmap(base, mapped_);
    throw;
  }
  words_ = reinterpret_cast<const std::atomic<uint64_t>*>(base);
  values_ = base + ArenaValuesOffset(rows);
}

ArenaReader::~ArenaReader() {
  guard_ = {};
  ::munmap(const_cast<std::atomic<uint64_t>*>(words_), mapped_);
}

bool ArenaReader::TryRead(int64_t row, std::byte* out) const noexcept {
  return ReadRow(word(row), value(row), row_bytes_, out, kMostWaits) && !guard_.damaged();
}

template <size_t kLines>
void ArenaReader::ReadEach(std::span<const int64_t> rows, std::span<const int64_t> to,
                           std::byte* out, std::vector<uint32_t>& missing) const {
  const size_t row_bytes = kLines != 0 ? kLines * kLine : row_bytes_;
  const size_t ahead = RowsAhead(row_bytes);
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + ahead < rows.size()) {
      __builtin_prefetch(&word(rows[i + ahead]));
      PrefetchBytes<kLines>(value(rows[i + ahead]), row_bytes);
    }
    const size_t target = to.empty() ? i : static_cast<size_t>(to[i]);
    if (!ReadRow(word(rows[i]), value(rows[i]), row_bytes, out + target * row_bytes, kMostWaits)) {
      missing.push_back(static_cast<uint32_t>(i));
    }
  }
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
  if (restores % 2 == 0) {
    WithLines(row_bytes_, [&](auto lines) { ReadEach<lines>(rows, to, out, missing); });
  }
  if (restores % 2 == 0 && words_[ArenaPages(rows_)].load(std::memory_order_acquire) == restores &&
      !guard_.damaged()) {
    return;
  }
  missing.resize(rows.size());
  std::iota(missing.begin(), missing.end(), 0U);
}

}  // namespace graphd::store
