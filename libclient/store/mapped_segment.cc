// SPDX-License-Identifier: Apache-2.0
#include "store/mapped_segment.h"

#include <emmintrin.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/large_pages.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

constexpr size_t kStreamed = 256;  // fewer bytes are soon read again, or not worth it

constexpr uint64_t kSmallPage = 4096;

uint64_t WholePages(uint64_t bytes) {
  const uint64_t page = bytes < kLargePage ? kSmallPage : kLargePage;
  return (bytes + page - 1) / page * page;
}

void StreamBytes(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % sizeof(__m128i));
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= sizeof(__m128i); bytes -= sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    to += sizeof(__m128i);
    from += sizeof(__m128i);
  }
  std::memcpy(to, from, bytes);
}

}  // namespace

MappedSegment::MappedSegment(const std::string& path, uint64_t bytes)
    : path_(path), fd_(OpenFile(path, O_RDWR | O_CREAT, 0600)) {
  const uint64_t there = FileSize(path) / kSmallPage * kSmallPage;
  if (there != 0) Map(there);
  bytes_ = there;
  try {
    Grow(bytes);
  } catch (...) {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    throw;
  }
  Populate();
}

MappedSegment::~MappedSegment() { ::munmap(data_, bytes_); }

// Of the file as it is. Throws Error.
void MappedSegment::Map(uint64_t bytes) {
  std::byte* data = MapAligned(fd_.get(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (data == nullptr) ThrowErrno("can't map", path_);
  data_ = data;
}

// So that what is written later meets no page that is not mapped.
void MappedSegment::Populate() noexcept {
#ifdef MADV_POPULATE_WRITE
  ::madvise(data_, bytes_, MADV_POPULATE_WRITE);
#endif
}

void MappedSegment::Grow(uint64_t bytes) {
  bytes = WholePages(bytes);
  if (bytes <= bytes_) return;
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) ThrowErrno("can't size", path_);
  std::byte* const before = data_;
  try {
    Map(bytes);
    JoinPages(data_ + bytes_, bytes - bytes_);  // large pages come at once where nothing is yet
    // All memory now: later a shortage would be a SIGBUS.
    int error = 0;
    do {
      error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes));
    } while (error == EINTR);
    if (error != 0) Throw(ErrorCode::kOverloaded, "no room for ", path_);
  } catch (...) {
    if (data_ != before) ::munmap(data_, bytes);
    data_ = before;
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) ThrowErrno("can't size", path_);
    throw;
  }
  if (before != nullptr) ::munmap(before, bytes_);
  bytes_ = bytes;
  Populate();
}

void MappedSegment::Put(uint64_t offset, const void* from, size_t bytes) noexcept {
  if (bytes < kStreamed) {
    if (bytes != 0) std::memcpy(data_ + offset, from, bytes);
  } else {
    StreamBytes(data_ + offset, static_cast<const std::byte*>(from), bytes);
  }
}

void MappedSegment::PutLast(uint64_t offset, const void* from, size_t bytes) noexcept {
  constexpr size_t kMark = sizeof(uint32_t);
  uint32_t mark;
  std::memcpy(&mark, from, kMark);
  _mm_sfence();  // what was streamed is in no order otherwise
  std::memcpy(data_ + offset + kMark, static_cast<const std::byte*>(from) + kMark, bytes - kMark);
  __atomic_store_n(reinterpret_cast<uint32_t*>(data_ + offset), mark, __ATOMIC_RELEASE);
}

}  // namespace graphd::store
