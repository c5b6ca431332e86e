// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/threads/watched_thread.h"

namespace graphd {
namespace {

// The values of MADV_POPULATE_READ and MADV_POPULATE_WRITE (Linux 5.14), and of MADV_COLLAPSE
// (6.1), which the C library of Debian 12 lacks.
constexpr int kPopulateRead = 22, kPopulateWrite = 23, kCollapse = 25;
constexpr size_t kSmallPage = 4096;

constexpr uintptr_t RoundUp(uintptr_t value, uintptr_t to) { return (value + to - 1) / to * to; }

// Returns the processor time of this thread, which a busy machine does not lengthen.
int64_t ThreadMicroseconds() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

std::byte* MapAligned(int fd, size_t bytes, int protection, int flags) noexcept {
  if (bytes < kHugePage) {
    void* data = ::mmap(nullptr, bytes, protection, flags, fd, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
  }
  size_t reserve = 0;
  if (__builtin_add_overflow(bytes, kHugePage, &reserve)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* area =
      ::mmap(nullptr, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(area);
  const uintptr_t aligned = RoundUp(begin, kHugePage);
  void* mapped =
      ::mmap(reinterpret_cast<void*>(aligned), bytes, protection, flags | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    ::munmap(area, reserve);
    errno = error;
    return nullptr;
  }
  if (aligned > begin) ::munmap(area, aligned - begin);
  const uintptr_t end = aligned + RoundUp(bytes, static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)));
  if (begin + reserve > end) {
    ::munmap(reinterpret_cast<void*>(end), begin + reserve - end);
  }
  return static_cast<std::byte*>(mapped);
}

bool PopulateHugePages(std::byte* data, size_t bytes, std::atomic<bool>* none_left) noexcept {
  std::atomic<bool> own{false};
  if (none_left == nullptr) none_left = &own;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  // Collapses several huge pages per call, because each call makes all processors flush their
  // cached pages (lru_add_drain_all); but not all of them, so that a system without huge pages
  // fails early.
  constexpr size_t kAtOnce = 32 * kHugePage;
  for (uintptr_t at = RoundUp(end - bytes, kHugePage); at + kHugePage <= end && !*none_left;) {
    const size_t some = std::min<size_t>(kAtOnce, (end - at) / kHugePage * kHugePage);
    for (size_t page = 0; page < some; page += kHugePage) {
      ::madvise(reinterpret_cast<void*>(at + page), kSmallPage, kPopulateWrite);
    }
    const int result = ::madvise(reinterpret_cast<void*>(at), some, kCollapse);
    if (result != 0 && (errno == ENOMEM || errno == EINVAL)) {  // otherwise a page was in use
      *none_left = true;
    }
    at += some;
    WatchedThread::CountProgress();
  }
  for (size_t done = 0; done < bytes; done += kAtOnce) {
    if (::madvise(data + done, std::min(kAtOnce, bytes - done), kPopulateWrite) != 0) {
      // A kernel without MADV_POPULATE_WRITE allocates the pages when they are first written.
      return errno == EINVAL;
    }
    WatchedThread::CountProgress();
  }
  return true;
}

void MapPagesAhead(std::byte* data, size_t bytes) noexcept {
  constexpr size_t kPiece = 8 * kHugePage;
  constexpr int64_t kMostOfPiece = 500, kMostOfAll = 20'000;
  const int64_t start = ThreadMicroseconds();
  int64_t before = start;
  for (size_t done = 0; done < bytes; done += kPiece) {
    if (::madvise(data + done, std::min(kPiece, bytes - done), kPopulateRead) != 0) return;
    const int64_t now = ThreadMicroseconds();
    if (now - before > kMostOfPiece || now - start > kMostOfAll) return;
    before = now;
  }
}

void CollapsePages(std::byte* data, size_t bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (uintptr_t at = RoundUp(begin, kHugePage); at + kHugePage <= begin + bytes; at += kHugePage) {
    ::madvise(reinterpret_cast<void*>(at), kHugePage, kCollapse);
  }
}

}  // namespace graphd
