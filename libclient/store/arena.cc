// SPDX-License-Identifier: Apache-2.0
#include "store/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/check.h"
#include "base/strings.h"

namespace graphd::store {

Arena::Arena(const std::string& name, Shape shape)
    : shape_(shape),
      value_blocks_(ArenaBytes(shape.rows, shape.row_bytes).value_or(0)),
      state_blocks_(0) {
  const uint64_t offset = ArenaValuesOffset(shape.rows);
  const std::optional<uint64_t> bytes = ArenaBytes(shape.rows, shape.row_bytes);
  if (!bytes) {
    Throw(ErrorCode::kOverloaded, name, ": ", shape.rows, " rows of ", shape.row_bytes,
          " bytes do not fit this machine's address space");
  }
  mapped_ = *bytes;
  fd_ = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_) ThrowErrno("can't make memory for", name);
  if (::ftruncate(fd_.get(), static_cast<off_t>(mapped_)) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    ThrowErrno("can't size the memory of", name);
  }
  if (::fchmod(fd_.get(), 0400) != 0) ThrowErrno("can't protect the memory of", name);
  reader_fd_ = OpenFile(StrCat("/proc/self/fd/", fd_.get()), O_RDONLY);
  // The words are touched by every reader; they are small.
  const auto words = static_cast<off_t>(num_pages() * sizeof(uint64_t) + 1);
  if (const int error = ::posix_fallocate(fd_.get(), 0, words); error != 0) {
    Throw(ErrorCode::kOverloaded, name, ": no memory for the words of ", num_pages(), " pages");
  }
  void* base = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (base == MAP_FAILED) {
    Throw(ErrorCode::kOverloaded, name, ": can't map ", HumanBytes(mapped_));
  }
  // Large ones where the kernel has them for shared memory.
  ::madvise(base, mapped_, shape.small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  words_ = static_cast<std::atomic<uint64_t>*>(base);
  values_ = static_cast<std::byte*>(base) + offset;
  AdoptStates(shape.state_floats, MakeStates(shape.state_floats));
}

HugeArray<float> Arena::MakeStates(size_t state_floats) const {
  HugeArray<float> states(static_cast<size_t>(shape_.rows) * state_floats,
                          "the state of an optimiser");
  if (shape_.small_pages && !states.empty()) {
    ::madvise(states.data(), states.size() * sizeof(float), MADV_NOHUGEPAGE);
  }
  return states;
}

uint64_t Arena::AdoptStates(size_t state_floats, HugeArray<float> states) {
  shape_.state_floats = state_floats;
  states_ = std::move(states);
  std::lock_guard lock(blocks_mutex_);
  state_blocks_ = BlockUses(states_.size() * sizeof(float));
  uint64_t taken = 0;
  for (uint64_t page = 0; page < num_pages() && state_floats != 0; page++) {
    if ((words_[page].load(std::memory_order_relaxed) & kPageResident) == 0) continue;
    const Range range = StatesOf(page);
    taken += state_blocks_.Add(range.begin, range.end, [](uint64_t, uint64_t) {});
  }
  return taken;
}

Arena::~Arena() {
  if (words_ != nullptr) ::munmap(words_, mapped_);
}

int64_t Arena::rows_of(uint64_t page) const noexcept {
  return std::min(kPageRows, shape_.rows - static_cast<int64_t>(page) * kPageRows);
}

uint64_t Arena::Lock(uint64_t page) noexcept {
  Backoff backoff;
  std::atomic<uint64_t>& word = words_[page];
  uint64_t before = word.load(std::memory_order_relaxed);
  while ((before & kPageLocked) != 0 ||
         !word.compare_exchange_weak(before, before | kPageLocked, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
    backoff.Wait();
    before = word.load(std::memory_order_relaxed);
  }
  return before;
}

bool Arena::TryLock(uint64_t page, uint64_t& word_before) noexcept {
  word_before = words_[page].load(std::memory_order_relaxed);
  return (word_before & kPageLocked) == 0 &&
         words_[page].compare_exchange_strong(word_before, word_before | kPageLocked,
                                              std::memory_order_seq_cst, std::memory_order_relaxed);
}

Arena::Range Arena::ValuesOf(uint64_t page) const noexcept {
  const uint64_t begin = page * kPageRows * shape_.row_bytes;
  return {begin, begin + static_cast<uint64_t>(rows_of(page)) * shape_.row_bytes};
}

Arena::Range Arena::StatesOf(uint64_t page) const noexcept {
  const uint64_t row_bytes = shape_.state_floats * sizeof(float);
  const uint64_t begin = page * kPageRows * row_bytes;
  return {begin, begin + static_cast<uint64_t>(rows_of(page)) * row_bytes};
}

uint64_t Arena::MostOf(uint64_t page) const noexcept {
  const auto blocks = [](const Range& range) {
    return RoundUp(range.end, BlockUses::kBlock) -
           range.begin / BlockUses::kBlock * BlockUses::kBlock;
  };
  return blocks(ValuesOf(page)) + blocks(StatesOf(page));
}

void Arena::Punch(uint64_t begin, uint64_t bytes) noexcept {
  const auto offset = static_cast<off_t>(ArenaValuesOffset(shape_.rows) + begin);
  int result = 0;
  do {
    result = ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                         static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  GRAPHD_CHECK(result == 0, "memory of our own can be given back");
}

uint64_t Arena::Reserve(uint64_t page) {
  const Range values = ValuesOf(page), states = StatesOf(page);
  std::lock_guard lock(blocks_mutex_);
  uint64_t taken = 0;
  try {
    taken = value_blocks_.Add(values.begin, values.end, [&](uint64_t begin, uint64_t bytes) {
      const auto offset = static_cast<off_t>(ArenaValuesOffset(shape_.rows) + begin);
      if (::posix_fallocate(fd_.get(), offset, static_cast<off_t>(bytes)) != 0) {
        Throw(ErrorCode::kOverloaded, "no memory for another ", HumanBytes(bytes), " of a table");
      }
    });
  } catch (const Error&) {
    value_blocks_.Drop(values.begin, values.end,
                       [&](uint64_t begin, uint64_t bytes) { Punch(begin, bytes); });
    throw;
  }
  return taken + state_blocks_.Add(states.begin, states.end, [](uint64_t, uint64_t) {});
}

uint64_t Arena::Release(uint64_t page) noexcept {
  const Range values = ValuesOf(page), states = StatesOf(page);
  std::lock_guard lock(blocks_mutex_);
  const uint64_t given = value_blocks_.Drop(
      values.begin, values.end, [&](uint64_t begin, uint64_t bytes) { Punch(begin, bytes); });
  return given + state_blocks_.Drop(states.begin, states.end, [&](uint64_t begin, uint64_t bytes) {
    ::madvise(reinterpret_cast<std::byte*>(states_.data()) + begin, bytes, MADV_DONTNEED);
  });
}

bool Arena::TryRead(int64_t row, std::byte* out) noexcept {
  return ReadRow(words_[static_cast<uint64_t>(row / kPageRows)], value(row), shape_.row_bytes, out,
                 INT_MAX);
}

void Arena::Write(int64_t row, const std::byte* from) noexcept {
  StoreRow(from, value(row), shape_.row_bytes);
}

}  // namespace graphd::store
