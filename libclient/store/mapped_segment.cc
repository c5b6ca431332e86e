// SPDX-License-Identifier: Apache-2.0
#include "store/mapped_segment.h"

#include <emmintrin.h>
#include <fcntl.h>
#include <sys/mman.h>

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
  bytes_ = FileSize(path) / kSmallPage * kSmallPage;
  Map();
  try {
    Grow(bytes);
  } catch (...) {
    if (data_ != nullptr) ::munmap(data_, bytes_);
    throw;
  }
}

MappedSegment::~MappedSegment() { ::munmap(data_, bytes_); }

void MappedSegment::Map() {
  if (bytes_ == 0) return;
  data_ = MapAligned(fd_.get(), bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE);
  if (data_ == nullptr) ThrowErrno("can't map", path_);
}

void MappedSegment::Grow(uint64_t bytes) {
  bytes = WholePages(bytes);
  if (bytes <= bytes_) return;
  // Memory now: later a shortage would be a SIGBUS.
  int error = 0;
  do {
    error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error != 0) Throw(ErrorCode::kOverloaded, "no room for ", path_);
  std::byte* before = data_;
  const uint64_t had = bytes_;
  bytes_ = bytes;
  try {
    Map();
  } catch (...) {
    bytes_ = had;
    data_ = before;
    throw;
  }
  if (before != nullptr) ::munmap(before, had);
  JoinPages(data_ + had, bytes - had);
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
