// SPDX-License-Identifier: Apache-2.0
#include "client/cache/cache_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/huge_pages.h"
#include "base/memory_limit.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastExtent = uint64_t{64} << 10;
constexpr size_t kMostTables = 4096;

struct Division {
  uint64_t extent_bytes = 0;
  uint32_t num_extents = 0;
};

uint64_t HeaderBytes(size_t num_tables) {
  return sizeof(CacheHeader) + num_tables * sizeof(CacheTable);
}

Division Divide(const CacheShape& shape) {
  if (shape.bytes < CacheShape::kLeastBytes) {
    Throw(ErrorCode::kInvalid, "a row cache of ", shape.bytes, " bytes is too small; give it ",
          HumanBytes(CacheShape::kLeastBytes), " or more, or none (GRAPHD_ROW_CACHE, --row_cache)");
  }
  if (shape.bytes > uint64_t{1} << 46) {
    Throw(ErrorCode::kInvalid, "a row cache of ", shape.bytes,
          " bytes is larger than any machine's memory");
  }
  const uint64_t header = HeaderBytes(shape.row_bytes.size());
  if (shape.row_bytes.size() > kMostTables || header > shape.bytes / 2) {
    Throw(ErrorCode::kInvalid, "a row cache of ", HumanBytes(shape.bytes), " has no room for ",
          shape.row_bytes.size(), " features; give it more memory (GRAPHD_ROW_CACHE, --row_cache)");
  }
  const uint64_t usable = shape.bytes - header;
  Division division;
  // Large extents lie on huge pages.
  if (const uint64_t bytes = usable / kMostExtents; bytes >= kHugePage / 4) {
    division.extent_bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    division.num_extents = static_cast<uint32_t>(usable / division.extent_bytes);
    return division;
  }
  division.num_extents =
      static_cast<uint32_t>(std::clamp<uint64_t>(usable / kLeastExtent, 1, kMostExtents));
  division.extent_bytes = usable / division.num_extents / kPage * kPage;
  return division;
}

}  // namespace

CacheMemory::CacheMemory(const CacheShape& shape) : row_bytes_(shape.row_bytes) {
  const auto [extent_bytes, num_extents] = Divide(shape);
  extent_bytes_ = extent_bytes;
  num_extents_ = num_extents;
  bytes_ = extent_bytes_ * num_extents_ + HeaderBytes(shape.row_bytes.size());
  CheckMemory(bytes_, AvailableMemory(), "the row cache (GRAPHD_ROW_CACHE, --row_cache)",
              "give it less memory, or free some on this machine");
  fd_ = UniqueFd(::memfd_create("graphd-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_) ThrowErrno("can't create memory file", "graphd-rows");
  if (::fchmod(fd_.get(), 0600) != 0 || ::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    ThrowErrno("can't size", "the row cache");
  }
  Map();
  header_ = new (base_ + extent_bytes_ * num_extents_) CacheHeader{};
  auto* first = reinterpret_cast<CacheTable*>(header_ + 1);
  tables_ = {first, shape.row_bytes.size()};
  for (size_t i = 0; i < tables_.size(); i++) {
    new (&tables_[i]) CacheTable{};
    tables_[i].row_bytes = shape.row_bytes[i];
  }
  header_->magic = kCacheMagic;
  header_->format = kCacheFormat;
  header_->num_tables = static_cast<uint32_t>(shape.row_bytes.size());
  header_->key = shape.key;
  header_->bytes = bytes_;
  header_->extent_bytes = extent_bytes_;
  header_->num_extents = num_extents_;
}

CacheMemory::CacheMemory(UniqueFd fd, const CacheShape& shape, const std::string& owner)
    : fd_(std::move(fd)), row_bytes_(shape.row_bytes) {
  const auto refuse = [&](const auto&... why) {
    const std::string reason = StrCat(why...);
    if (base_ != nullptr) ::munmap(base_, bytes_);
    Throw(ErrorCode::kCorrupt, "the row cache of ", owner, " can't be used: ", reason,
          "; end that process, or run without a cache (GRAPHD_ROW_CACHE, --row_cache)");
  };
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) ThrowErrno("can't stat", "the row cache of " + owner);
  const int seals = ::fcntl(fd_.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) refuse("its size is not sealed");
  bytes_ = static_cast<uint64_t>(info.st_size);
  const uint64_t header = HeaderBytes(shape.row_bytes.size());
  if (bytes_ <= header) refuse("it has ", bytes_, " bytes");
  Map();
  // The size of an extent is a multiple of the page's, so that the header begins on the last page
  // boundary before which there are whole extents only.
  const uint64_t at = bytes_ - header;
  if (at % kPage != 0) refuse("it was made for other features");
  header_ = reinterpret_cast<CacheHeader*>(base_ + at);
  extent_bytes_ = header_->extent_bytes;
  num_extents_ = header_->num_extents;
  if (header_->magic != kCacheMagic) refuse("its header is damaged");
  if (header_->format != kCacheFormat) {
    refuse("it has format ", header_->format, ", this version of graphd uses ", kCacheFormat);
  }
  if (header_->bytes != bytes_ || num_extents_ == 0 || num_extents_ > kMostExtents ||
      extent_bytes_ == 0 || extent_bytes_ != at / num_extents_ || at % num_extents_ != 0) {
    refuse("its header is damaged");
  }
  if (header_->key != shape.key || header_->num_tables != shape.row_bytes.size()) {
    refuse("it was made for another graph");
  }
  tables_ = {reinterpret_cast<CacheTable*>(header_ + 1), shape.row_bytes.size()};
  for (size_t i = 0; i < tables_.size(); i++) {
    if (tables_[i].row_bytes != shape.row_bytes[i]) refuse("it was made for other features");
  }
}

CacheMemory::~CacheMemory() { ::munmap(base_, bytes_); }

void CacheMemory::Map() {
  base_ = MapAligned(fd_.get(), bytes_, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (base_ == nullptr) ThrowErrno("can't map", "the row cache");
  ::madvise(base_, bytes_, MADV_HUGEPAGE);
}

void CacheMemory::HideFromChildren() {
  if (::madvise(base_, bytes_, MADV_DONTFORK) != 0) {
    ThrowErrno("can't hide from children", "the row cache");
  }
  closed_in_children_.emplace(fd_.get());
}

bool CacheMemory::Populate(uint32_t i) noexcept {
  // Other programs may have taken the machine's memory since this cache was made; if the pages were
  // allocated nevertheless, the system could kill one of these programs.
  try {
    if (AvailableMemory().bytes < extent_bytes_) return false;
  } catch (const std::exception&) {
    return false;
  }
  if (extent_bytes_ % kHugePage == 0) return PopulateHugePages(extent(i), extent_bytes_);
  int result;
  do {
    result = ::fallocate(fd_.get(), 0, static_cast<off_t>(i * extent_bytes_),
                         static_cast<off_t>(extent_bytes_));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace graphd
