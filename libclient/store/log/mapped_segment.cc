// SPDX-License-Identifier: Apache-2.0
#include "store/log/mapped_segment.h"

#include <emmintrin.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/directory.h"
#include "base/huge_pages.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

// Copies of fewer bytes go through the processor's caches, because they are so small that bypassing
// the caches saves nothing, or because they are read again soon.
constexpr size_t kStreamBytes = 256;

constexpr uint64_t kPage = 4096;

uint64_t WholePages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

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
  _mm_sfence();  // orders these stores before the next ones
}

}  // namespace

MappedSegment::MappedSegment(const std::string& path)
    : path_(path), fd_(OpenOwnFile(path, O_RDWR | O_CREAT)) {}

MappedSegment::MappedSegment(const std::string& path, uint64_t bytes) : MappedSegment(path) {
  bytes = std::max(WholePages(bytes), FileSize(path));
  Allocate(bytes);
  Map(bytes);
}

MappedSegment::~MappedSegment() {
  guard_ = {};
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

uint64_t MappedSegment::MakeFile(const std::string& path, uint64_t bytes) {
  MappedSegment segment(path);
  segment.Allocate(WholePages(bytes));
  return WholePages(bytes);
}

void MappedSegment::Allocate(uint64_t bytes) const {
  AllocateFile(fd_.get(), 0, bytes, path_, "no space for " + path_);
}

void MappedSegment::Map(uint64_t bytes) {
  std::byte* data = MapAligned(fd_.get(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (data == nullptr) ThrowErrno("can't map", path_);
  try {
    guard_ = MappingGuard(data, bytes);
  } catch (...) {
    ::munmap(data, bytes);
    throw;
  }
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = data;
  bytes_ = bytes;
  // The memory of the file is allocated already. This call asks for huge pages and enters them into
  // the page table, so that writes cause no page faults.
  PopulateHugePages(data_, bytes_);
}

void MappedSegment::CheckIntact() const {
  const std::string what = WhatHappenedTo(fd_.get(), path_, bytes_);
  if (guard_.damaged()) {
    Throw(ErrorCode::kCorrupt, what.empty() ? path_ + " was truncated for a while" : what);
  }
  if (!what.empty()) Throw(ErrorCode::kIo, what);
}

void MappedSegment::Grow(uint64_t bytes) {
  bytes = WholePages(bytes);
  if (bytes <= bytes_) return;
  CheckIntact();
  Allocate(bytes);
  Map(bytes);
}

void MappedSegment::Put(uint64_t offset, const void* from, size_t bytes) noexcept {
  if (bytes < kStreamBytes) {
    if (bytes != 0) std::memcpy(data_ + offset, from, bytes);
  } else {
    StreamBytes(data_ + offset, static_cast<const std::byte*>(from), bytes);
  }
}

void MappedSegment::PutLast(uint64_t offset, const void* from, size_t bytes) noexcept {
  constexpr size_t kMark = sizeof(uint32_t);
  uint32_t mark;
  std::memcpy(&mark, from, kMark);
  std::memcpy(data_ + offset + kMark, static_cast<const std::byte*>(from) + kMark, bytes - kMark);
  __atomic_store_n(reinterpret_cast<uint32_t*>(data_ + offset), mark, __ATOMIC_RELEASE);
}

}  // namespace graphd::store
