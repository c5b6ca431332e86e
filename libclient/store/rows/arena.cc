// SPDX-License-Identifier: Apache-2.0
#include "store/rows/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/check.h"
#include "base/directory.h"
#include "base/huge_pages.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

// The sum of Arena::promise_ over all tables of this process.
std::atomic<uint64_t> all_promises = 0;

// Creates a memory file that can't be resized, and that is freed when nobody uses it any more.
UniqueFd MakeMemory(const std::string& name, uint64_t bytes) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) ThrowErrno("can't make memory for", name);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    ThrowErrno("can't size the memory of", name);
  }
  if (::fchmod(fd.get(), 0400) != 0) ThrowErrno("can't protect the memory of", name);
  return fd;
}

// Frees memory of a file.
void PunchHole(int fd, uint64_t begin, uint64_t bytes) noexcept {
  int result = 0;
  do {
    result = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                         static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  GRAPHD_CHECK(result == 0, "our own memory can be freed");
}

}  // namespace

Arena::Arena(const std::string& name, Shape shape, const Files* files)
    : shape_(shape), name_(name), path_(files != nullptr ? files->path : "") {
  const uint64_t offset = ArenaValuesOffset(shape.rows);
  const std::optional<uint64_t> bytes = ArenaBytes(shape.rows, shape.row_bytes);
  if (!bytes) {
    Throw(ErrorCode::kOverloaded, name, ": ", shape.rows, " rows of ", shape.row_bytes,
          " bytes do not fit this machine's address space");
  }
  mapped_ = *bytes;
  const bool kept = files != nullptr && files->kept;
  if (files != nullptr) {
    fd_ = OpenPart(".rows", mapped_, kept);
    const size_t lsns = num_pages() * sizeof(uint64_t);
    lsns_fd_ = OpenPart(".lsns", lsns, kept);
    Allocate(lsns_fd_.get(), 0, lsns);
    lsns_ = HugeArray<uint64_t>(lsns_fd_.get(), num_pages(), "the numbers of pages");
    lsns_guard_ = MappingGuard(lsns_.data(), lsns);
  } else {
    fd_ = MakeMemory(name, mapped_);
    lsns_ = HugeArray<uint64_t>(num_pages(), "the numbers of pages");
  }
  reader_fd_ = OpenFile(StrCat("/proc/self/fd/", fd_.get()), O_RDONLY);
  // The words are allocated now, because every reader reads them and they are small.
  Allocate(fd_.get(), 0, (num_pages() + 1) * sizeof(uint64_t));
  std::byte* base = MapAligned(fd_.get(), mapped_, PROT_READ | PROT_WRITE, MAP_SHARED);
  mapping_ = {base, Unmap{mapped_}};
  if (base == nullptr) {
    Throw(ErrorCode::kOverloaded, name, ": can't map ", HumanBytes(mapped_));
  }
  words_ = reinterpret_cast<std::atomic<uint64_t>*>(base);
  if (files != nullptr) rows_guard_ = MappingGuard(base, mapped_);
  dropped_from_ = mapped_;
  // Without small_pages, the kernel is asked for huge pages. If it does not use them for shared
  // memory, ArrayMemory makes them.
  ::madvise(base, mapped_, shape.small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  values_ = base + offset;
  const uint64_t values = mapped_ - offset;
  const ArrayMemory::Pages pages = PagesFor(values, 2 * values, kept);
  value_memory_ = std::make_unique<ArrayMemory>(
      values_, values, pages, /*collapses=*/true,
      ArrayMemory::Functions{[this, offset](uint64_t begin, uint64_t some) {
                               CheckSizes();
                               if (!damaged()) Allocate(fd_.get(), offset + begin, some);
                             },
                             [this, offset](uint64_t begin, uint64_t some) {
                               PunchHole(fd_.get(), offset + begin, some);
                             },
                             [this] { return room(); }});
  states_ = OpenStates(shape.state_floats, kept);
  states_.memory = MemoryOf(states_, kept);
  // This comes last: if something after it threw, no destructor would take the promise back.
  if (pages == ArrayMemory::Pages::kHuge) SetPromise(2 * values);
}

Arena::~Arena() { SetPromise(0); }

void Arena::Unmap::operator()(std::byte* base) const noexcept { ::munmap(base, bytes); }

// Returns how memory of `bytes` is allocated. A table gets huge pages if there is room for all of
// its rows and for as much state, besides the memory that other tables with huge pages may still
// take. The pages of kept files were allocated before, so they can only be collapsed.
ArrayMemory::Pages Arena::PagesFor(uint64_t bytes, uint64_t least_room, bool kept) const {
  if (shape_.small_pages) return ArrayMemory::Pages::kSmall;
  if (kept || bytes < ArrayMemory::kLeastHuge) return ArrayMemory::Pages::kCollapsed;
  const uint64_t others = all_promises - promise_;
  return least_room + others <= room() ? ArrayMemory::Pages::kHuge : ArrayMemory::Pages::kCollapsed;
}

void Arena::SetPromise(uint64_t bytes) noexcept {
  all_promises += bytes - promise_.exchange(bytes);
}

// Reduces the promise by memory that was allocated, because that is no longer counted as available.
void Arena::ReducePromise(uint64_t bytes) noexcept {
  uint64_t before = promise_.load();
  while (!promise_.compare_exchange_weak(before, before - std::min(before, bytes))) {
  }
  all_promises -= std::min(before, bytes);
}

// Returns the ArrayMemory of the states. If they are in anonymous memory, the kernel makes huge
// pages by itself, and CollapseOnePage does nothing.
std::unique_ptr<ArrayMemory> Arena::MemoryOf(const States& states, bool kept) const {
  const uint64_t bytes = states.floats.size() * sizeof(float);
  auto* const data =
      const_cast<std::byte*>(reinterpret_cast<const std::byte*>(states.floats.span().data()));
  ArrayMemory::Functions functions;
  const int fd = states.fd.get();
  if (states.fd) {
    functions.allocate = [this, fd](uint64_t begin, uint64_t some) {
      CheckSizes();
      if (!damaged()) Allocate(fd, begin, some);
    };
    functions.release = [fd](uint64_t begin, uint64_t some) { PunchHole(fd, begin, some); };
  } else {
    functions.release = [data](uint64_t begin, uint64_t some) {
      ::madvise(data + begin, some, MADV_DONTNEED);
    };
  }
  functions.room = [fd] { return SpareMemory(fd); };
  return std::make_unique<ArrayMemory>(data, bytes, PagesFor(bytes, bytes, kept),
                                       /*collapses=*/bool{states.fd}, std::move(functions));
}

void Arena::Allocate(int fd, uint64_t offset, uint64_t bytes) const {
  AllocateFile(fd, offset, bytes, path_,
               StrCat(name_, ": no memory for another ", HumanBytes(bytes), " of a table"));
}

// Opens a file of the table. A file that was kept must exist and have this size.
UniqueFd Arena::OpenPart(const char* suffix, size_t bytes, bool kept) const {
  const std::string path = path_ + suffix;
  UniqueFd fd = OpenOwnFile(path, kept ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC);
  if (!kept && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    ThrowErrno("can't size", path);
  }
  if (kept && FileSize(path) != bytes) {
    Throw(ErrorCode::kCorrupt, path, " has ", FileSize(path), " bytes and should have ", bytes);
  }
  return fd;
}

Arena::States Arena::OpenStates(size_t state_floats, bool kept) const {
  const size_t floats = static_cast<size_t>(shape_.rows) * state_floats;
  constexpr const char* kWhat = "the state of an optimiser";
  States states;
  if (floats == 0) return states;
  if (path_.empty()) {
    states.floats = HugeArray<float>(floats, kWhat);
  } else {
    const std::string suffix = StrCat(".state", state_floats);
    // If the file is missing, the earlier process ended before it created and used it.
    const bool there = kept && FileExists(path_ + suffix);
    states.path = path_ + suffix;
    states.fd = OpenPart(suffix.c_str(), RoundUp(floats * sizeof(float), BlockUses::kBlock), there);
    states.floats = HugeArray<float>(states.fd.get(), floats, kWhat);
    states.guard = MappingGuard(states.floats.data(), floats * sizeof(float));
  }
  if (shape_.small_pages) {
    ::madvise(states.floats.data(), floats * sizeof(float), MADV_NOHUGEPAGE);
  }
  return states;
}

template <class F>
void Arena::EachResident(const F& f) const {
  for (uint64_t page = 0; page < num_pages(); page++) {
    if ((words_[page].load(std::memory_order_relaxed) & kPageResident) != 0) f(page);
  }
}

Arena::States Arena::MakeStates(size_t state_floats) const {
  States states = OpenStates(state_floats, /*kept=*/false);
  states.memory = MemoryOf(states, /*kept=*/false);
  states.has_memory.resize(num_pages());
  AllocateStates(state_floats, states);
  return states;
}

void Arena::States::RemoveFile() const noexcept {
  if (!path.empty()) ::unlink(path.c_str());
}

// Allocates the states of those pages in memory that have none. If that fails, removes the file of
// the states.
void Arena::AllocateStates(size_t state_floats, States& states) const {
  try {
    EachResident([&](uint64_t page) {
      if (states.has_memory[page]) return;
      const Range range = StatesOf(page, state_floats);
      states.memory->Take(range.begin, range.end, states.taken);
      states.memory->SetUsed(range.begin, range.end);
      states.has_memory[page] = true;
    });
  } catch (...) {
    states.RemoveFile();
    throw;
  }
}

uint64_t Arena::AdoptStates(size_t state_floats, States states) {
  AllocateStates(state_floats, states);
  EachResident([&](uint64_t page) { states.has_memory[page] = false; });
  for (uint64_t page = 0; page < num_pages(); page++) {
    if (!states.has_memory[page]) continue;
    const Range range = StatesOf(page, state_floats);  // the page was evicted after MakeStates
    states.taken -= states.memory->Give(range.begin, range.end);
  }
  states.has_memory = {};
  shape_.state_floats = state_floats;
  states_ = std::move(states);
  ReducePromise(states_.taken);
  return states_.taken;
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

Arena::Range Arena::StatesOf(uint64_t page, size_t state_floats) const noexcept {
  const uint64_t row_bytes = state_floats * sizeof(float);
  const uint64_t begin = page * kPageRows * row_bytes;
  return {begin, begin + static_cast<uint64_t>(rows_of(page)) * row_bytes};
}

uint64_t Arena::MaxBytesOf(uint64_t page) const noexcept {
  const Range values = ValuesOf(page), states = StatesOf(page, shape_.state_floats);
  return value_memory_->MaxBytes(values.begin, values.end) +
         states_.memory->MaxBytes(states.begin, states.end);
}

// Finds out whether the files still have their sizes. It is called before memory is allocated,
// because that would enlarge a truncated file again.
void Arena::CheckSizes() const {
  const auto has = [](const UniqueFd& fd, uint64_t bytes) {
    struct stat info {};
    return !fd || (::fstat(fd.get(), &info) == 0 && static_cast<uint64_t>(info.st_size) >= bytes);
  };
  if (path_.empty() || shrunk_) return;
  if (!has(fd_, mapped_) || !has(lsns_fd_, lsns_.size() * sizeof(uint64_t)) ||
      !has(states_.fd, states_.floats.size() * sizeof(float))) {
    shrunk_ = true;
  }
}

std::string Arena::WhatHappened() const {
  if (path_.empty()) return {};
  CheckSizes();
  std::string what = WhatHappenedTo(fd_.get(), path_ + ".rows", mapped_);
  if (what.empty()) {
    what = WhatHappenedTo(lsns_fd_.get(), path_ + ".lsns", lsns_.size() * sizeof(uint64_t));
  }
  if (what.empty() && states_.fd) {
    what = WhatHappenedTo(states_.fd.get(), StrCat(path_, ".state", shape_.state_floats),
                          RoundUp(states_.floats.size() * sizeof(float), BlockUses::kBlock));
  }
  if (what.empty() && damaged()) what = path_ + " was truncated for a while";
  return what;
}

void Arena::DropDamaged() noexcept {
  const MutexLock lock(dropping_);
  uint64_t intact = std::min<uint64_t>(rows_guard_.intact_bytes(), dropped_from_);
  struct stat info {};
  if (::fstat(fd_.get(), &info) == 0) {
    intact = std::min(intact, static_cast<uint64_t>(info.st_size));
  }
  if (intact == dropped_from_) return;
  const uint64_t offset = ArenaValuesOffset(shape_.rows);
  for (uint64_t page = num_pages(); page-- > 0;) {
    if (offset + ValuesOf(page).end <= intact) break;
    const uint64_t word = Lock(page);
    UnlockAbsent(page, word);
  }
  dropped_from_ = intact;
}

void Arena::Reserve(uint64_t page, uint64_t& taken) {
  const Range values = ValuesOf(page), states = StatesOf(page, shape_.state_floats);
  const uint64_t before = taken;
  value_memory_->Take(values.begin, values.end, taken);
  try {
    states_.memory->Take(states.begin, states.end, taken);
  } catch (...) {
    taken -= value_memory_->Give(values.begin, values.end);
    throw;
  }
  value_memory_->SetUsed(values.begin, values.end);
  states_.memory->SetUsed(states.begin, states.end);
  ReducePromise(taken - before);
}

// Throws unless the files have the values and sequence numbers of all pages that were in memory,
// which an earlier process has allocated and written. Pages of a PersistentArena are never evicted,
// so a page that is not in memory must not have had a push.
void Arena::CheckThere() const {
  const auto has = [this](const UniqueFd& fd, uint64_t begin, uint64_t end, uint64_t& hole) {
    if (hole <= begin) {  // find the first hole at or after `begin`
      const off_t found = ::lseek(fd.get(), static_cast<off_t>(begin), SEEK_HOLE);
      if (found < 0) ThrowErrno("can't look for holes in the files of", path_);
      hole = static_cast<uint64_t>(found);
    }
    return hole >= end;
  };
  const uint64_t offset = ArenaValuesOffset(shape_.rows);
  uint64_t value_hole = 0, lsn_hole = 0;
  for (uint64_t page = 0; page < num_pages(); page++) {
    const uint64_t word = words_[page].load(std::memory_order_relaxed);
    const uint64_t lsn_at = page * sizeof(uint64_t);
    const Range values = ValuesOf(page);
    bool there = true;
    if ((word & kPageResident) != 0) {
      there = has(fd_, offset + values.begin, offset + values.end, value_hole) &&
              has(lsns_fd_, lsn_at, lsn_at + sizeof(uint64_t), lsn_hole);
    } else if ((word & kPageLocked) == 0) {  // a locked page was just being loaded
      there = lsn(page) == 0;
    }
    if (!there) {
      Throw(ErrorCode::kCorrupt, path_, ": the rows of page ", page,
            " are no longer there; was a file truncated?");
    }
  }
}

uint64_t Arena::TakeOver(const std::function<void()>& roll_back) {
  CheckThere();
  // A file may have holes, because memory was never used there, or because somebody has punched
  // them.
  uint64_t begin = 0, end = 0;  // pages in memory, one after another
  const auto allocate = [&] {
    if (begin == end) return;
    Allocate(fd_.get(), ArenaValuesOffset(shape_.rows) + ValuesOf(begin).begin,
             ValuesOf(end - 1).end - ValuesOf(begin).begin);
    const uint64_t first = StatesOf(begin, shape_.state_floats).begin;
    const uint64_t last = StatesOf(end - 1, shape_.state_floats).end;
    if (states_.fd) Allocate(states_.fd.get(), first, last - first);
  };
  EachResident([&](uint64_t page) {
    if (page != end) {
      allocate();
      begin = page;
    }
    end = page + 1;
  });
  allocate();
  roll_back();
  uint64_t taken = 0;
  for (uint64_t page = 0; page < num_pages(); page++) {
    const uint64_t word = words_[page].load(std::memory_order_relaxed) & ~kPageLocked;
    if ((word & kPageResident) == 0) {
      SetLsn(page, 0);
      UnlockAbsent(page, word);
      continue;
    }
    // This counts as a change of the page, because a reader may have begun to copy a row before.
    Unlock(page, word);
    const Range values = ValuesOf(page), states = StatesOf(page, shape_.state_floats);
    taken += value_memory_->Count(values.begin, values.end) +
             states_.memory->Count(states.begin, states.end);
  }
  return taken;
}

uint64_t Arena::Release(uint64_t page) noexcept {
  const Range values = ValuesOf(page), states = StatesOf(page, shape_.state_floats);
  return value_memory_->Give(values.begin, values.end) +
         states_.memory->Give(states.begin, states.end);
}

bool Arena::TryRead(int64_t row, std::byte* out) noexcept {
  return ReadRow(words_[static_cast<uint64_t>(row / kPageRows)], value(row), shape_.row_bytes, out,
                 INT_MAX);
}

void Arena::Write(int64_t row, const std::byte* from) noexcept {
  StoreRow(from, value(row), shape_.row_bytes);
}

}  // namespace graphd::store
