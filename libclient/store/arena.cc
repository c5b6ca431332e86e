// SPDX-License-Identifier: Apache-2.0
#include "store/arena.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

uint64_t RoundUp(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// Pages are locked for microseconds, or while one comes from the disk.
class Backoff {
 public:
  void Wait() noexcept {
    if (++rounds_ < 64) {
      __builtin_ia32_pause();
    } else if (rounds_ < 80) {
      ::sched_yield();
    } else {
      const timespec pause{0, 50'000};
      ::nanosleep(&pause, nullptr);
    }
  }

 private:
  int rounds_ = 0;
};

// Acquire and release cost nothing on x86-64, and make the words' order that of the values. Only
// the arena's side is aligned.
template <class T>
void LoadPieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  const T* source = reinterpret_cast<const T*>(from);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    const T piece = __atomic_load_n(source + i, __ATOMIC_ACQUIRE);
    std::memcpy(to + i * sizeof(T), &piece, sizeof(T));
  }
}

template <class T>
void StorePieces(const std::byte* from, std::byte* to, size_t bytes) noexcept {
  T* target = reinterpret_cast<T*>(to);
  for (size_t i = 0; i < bytes / sizeof(T); i++) {
    T piece;
    std::memcpy(&piece, from + i * sizeof(T), sizeof(T));
    __atomic_store_n(target + i, piece, __ATOMIC_RELEASE);
  }
}

}  // namespace

uint64_t Arena::ValuesOffset(int64_t rows) noexcept {
  return RoundUp(PagesOf(rows) * sizeof(uint64_t), kHugePage);
}

Arena::Arena(const std::string& name, Shape shape) : shape_(shape) {
  const uint64_t offset = ValuesOffset(shape.rows);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(shape.rows), shape.row_bytes, &bytes) ||
      bytes > (uint64_t{1} << 46)) {
    Throw(ErrorCode::kOverloaded, name, ": ", shape.rows, " rows of ", shape.row_bytes,
          " bytes do not fit this machine's address space");
  }
  mapped_ = RoundUp(offset + bytes, kHugePage);
  fd_ = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_) ThrowErrno("can't make memory for", name);
  if (::ftruncate(fd_.get(), static_cast<off_t>(mapped_)) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    ThrowErrno("can't size the memory of", name);
  }
  // The words are touched by every reader; they are small.
  if (const int error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(offset)); error != 0) {
    Throw(ErrorCode::kOverloaded, name, ": no memory for the words of ", num_pages(), " pages");
  }
  void* base = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (base == MAP_FAILED) {
    Throw(ErrorCode::kOverloaded, name, ": can't map ", HumanBytes(mapped_));
  }
  ::madvise(base, mapped_, MADV_HUGEPAGE);  // where the kernel has it for shared memory
  words_ = static_cast<std::atomic<uint64_t>*>(base);
  values_ = static_cast<std::byte*>(base) + offset;
  if (shape.state_floats != 0) {
    states_ = HugeArray<float>(static_cast<size_t>(shape.rows) * shape.state_floats,
                               "the state of an optimiser");
  }
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
  while ((before & kLocked) != 0 ||
         !word.compare_exchange_weak(before, before | kLocked, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
    backoff.Wait();
    before = word.load(std::memory_order_relaxed);
  }
  return before;
}

void Arena::Reserve(uint64_t page) {
  const uint64_t begin = ValuesOffset(shape_.rows) + page * kPageRows * shape_.row_bytes;
  const uint64_t bytes = static_cast<uint64_t>(rows_of(page)) * shape_.row_bytes;
  const int error =
      ::posix_fallocate(fd_.get(), static_cast<off_t>(begin), static_cast<off_t>(bytes));
  if (error != 0) {
    Throw(ErrorCode::kOverloaded, "no memory for another ", HumanBytes(bytes), " of a table");
  }
}

bool Arena::TryRead(int64_t row, std::byte* out) noexcept {
  const std::atomic<uint64_t>& word = words_[static_cast<uint64_t>(row / kPageRows)];
  const std::byte* from = value(row);
  Backoff backoff;
  for (;;) {
    const uint64_t before = word.load(std::memory_order_acquire);
    if ((before & kLocked) != 0) {
      backoff.Wait();
      continue;
    }
    if ((before & kResident) == 0) return false;
    if (shape_.row_bytes % 8 == 0) {
      LoadPieces<uint64_t>(from, out, shape_.row_bytes);
    } else if (shape_.row_bytes % 4 == 0) {
      LoadPieces<uint32_t>(from, out, shape_.row_bytes);
    } else {
      LoadPieces<uint8_t>(from, out, shape_.row_bytes);
    }
    if (word.load(std::memory_order_relaxed) == before) return true;
  }
}

void Arena::Write(int64_t row, const std::byte* from) noexcept {
  std::byte* to = value(row);
  if (shape_.row_bytes % 8 == 0) {
    StorePieces<uint64_t>(from, to, shape_.row_bytes);
  } else if (shape_.row_bytes % 4 == 0) {
    StorePieces<uint32_t>(from, to, shape_.row_bytes);
  } else {
    StorePieces<uint8_t>(from, to, shape_.row_bytes);
  }
}

}  // namespace graphd::store
