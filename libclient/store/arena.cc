// SPDX-License-Identifier: Apache-2.0
#include "store/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/strings.h"

namespace graphd::store {

Arena::Arena(const std::string& name, Shape shape) : shape_(shape) {
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
  ::madvise(base, mapped_, MADV_HUGEPAGE);  // where the kernel has it for shared memory
  words_ = static_cast<std::atomic<uint64_t>*>(base);
  values_ = static_cast<std::byte*>(base) + offset;
  states_ = MakeStates(shape.state_floats);
}

HugeArray<float> Arena::MakeStates(size_t state_floats) const {
  return HugeArray<float>(static_cast<size_t>(shape_.rows) * state_floats,
                          "the state of an optimiser");
}

void Arena::AdoptStates(size_t state_floats, HugeArray<float> states) noexcept {
  shape_.state_floats = state_floats;
  states_ = std::move(states);
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

void Arena::Reserve(uint64_t page) {
  const uint64_t begin = ArenaValuesOffset(shape_.rows) + page * kPageRows * shape_.row_bytes;
  const uint64_t bytes = static_cast<uint64_t>(rows_of(page)) * shape_.row_bytes;
  const int error =
      ::posix_fallocate(fd_.get(), static_cast<off_t>(begin), static_cast<off_t>(bytes));
  if (error != 0) {
    Throw(ErrorCode::kOverloaded, "no memory for another ", HumanBytes(bytes), " of a table");
  }
}

bool Arena::TryRead(int64_t row, std::byte* out) noexcept {
  return ReadRow(words_[static_cast<uint64_t>(row / kPageRows)], value(row), shape_.row_bytes, out,
                 INT_MAX);
}

void Arena::Write(int64_t row, const std::byte* from) noexcept {
  StoreRow(from, value(row), shape_.row_bytes);
}

}  // namespace graphd::store
