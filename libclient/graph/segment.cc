// SPDX-License-Identifier: Apache-2.0
#include "graph/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/huge_pages.h"
#include "base/strings.h"
#include "graph/array_shape.h"

namespace graphd {
namespace {

constexpr int kMaxSealTries = 5000;     // one per millisecond
constexpr size_t kSampledPages = 4096;  // to find out which kind of pages a segment is on
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The pages of a mapping of shared memory, as the kernel reports them.
struct Mapped {
  bool is_hugetlb = false;
  uint64_t huge_bytes = 0;  // bytes that are mapped as transparent huge pages
};

// Returns what /proc/self/smaps says about the mapping that begins at `base`.
Mapped FindMapped(const std::byte* base) {
  std::ifstream smaps("/proc/self/smaps");
  char start[32];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(base));
  Mapped found;
  std::string line;
  bool ours = false;
  while (std::getline(smaps, line)) {
    unsigned long kib = 0;
    if (line.rfind(start, 0) == 0) {
      ours = true;
    } else if (!ours) {
      continue;
    } else if (std::sscanf(line.c_str(), "KernelPageSize: %lu", &kib) == 1) {
      found.is_hugetlb = kib >= kHugePage / 1024;
    } else if (std::sscanf(line.c_str(), "ShmemPmdMapped: %lu", &kib) == 1) {
      found.huge_bytes = uint64_t{kib} << 10;
      break;
    }
  }
  return found;
}

}  // namespace

const ArraySpec& SegmentLayout::Add(std::string name, const Encoding& encoding,
                                    std::vector<int64_t> shape) {
  if (Find(name)) Throw(ErrorCode::kInvalid, "array '", name, "' is listed twice");
  try {
    CheckEncoding(encoding);
  } catch (const Error& error) {
    Throw(error.code(), "array '", name, "': ", error.what());
  }
  const auto bytes = ArrayBytes(encoding.stored, shape, uint64_t{1} << 62);
  if (!bytes) {
    Throw(ErrorCode::kInvalid, "array '", name, "' has the impossible shape ", ShapeText(shape));
  }
  const uint64_t offset = RoundUp(total_, *bytes >= kHugePage ? 4096 : 64);
  arrays_.push_back({std::move(name), encoding, std::move(shape), offset, *bytes});
  total_ = RoundUp(offset + *bytes, 64);
  return arrays_.back();
}

SegmentLayout SegmentLayout::FromTable(const std::vector<ArraySpec>& table, uint64_t total_bytes,
                                       const std::string& where) {
  SegmentLayout layout;
  for (const ArraySpec& claimed : table) {
    try {
      const ArraySpec& real = layout.Add(claimed.name, claimed.encoding, claimed.shape);
      if (real == claimed) continue;
      Throw(ErrorCode::kCorrupt, where, ": array '", claimed.name, "' is at offset ",
            claimed.offset, " with ", claimed.bytes, " bytes, expected ", real.offset, " with ",
            real.bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCorrupt) throw;
      Throw(ErrorCode::kCorrupt, where, ": ", error.what());
    }
  }
  if (layout.total_ != total_bytes) {
    Throw(ErrorCode::kCorrupt, where, ": ", total_bytes, " bytes, its arrays need ", layout.total_);
  }
  return layout;
}

const ArraySpec* SegmentLayout::Find(const std::string& name) const noexcept {
  for (const ArraySpec& array : arrays_) {
    if (array.name == name) return &array;
  }
  return nullptr;
}

const char* PageKindName(PageKind kind) noexcept {
  switch (kind) {
    case PageKind::kSmall:
      return "4 KiB";
    case PageKind::kTransparentHuge:
      return "2 MiB transparent";
    case PageKind::kHugetlb:
      return "2 MiB hugetlb";
  }
  return "4 KiB";
}

Segment::Segment(UniqueFd fd, SegmentLayout layout, std::byte* base, size_t mapped)
    : fd_(std::move(fd)), layout_(std::move(layout)), base_(base), mapped_(mapped) {}

Segment::~Segment() {
  if (base_) ::munmap(base_, mapped_);
}

std::shared_ptr<const Segment> Segment::Map(UniqueFd fd, SegmentLayout layout) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) ThrowErrno("can't stat", "a received segment");
  if (static_cast<uint64_t>(info.st_size) < layout.total_bytes()) {
    Throw(ErrorCode::kCorrupt, "a received segment has ", info.st_size, " bytes, expected ",
          layout.total_bytes());
  }
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    Throw(ErrorCode::kCorrupt,
          "a received segment is not sealed: it could change while it is read");
  }
  std::byte* base = nullptr;
  const size_t mapped = static_cast<size_t>(info.st_size);
  if (mapped > 0) {
    base = MapAligned(fd.get(), mapped, PROT_READ, MAP_SHARED);
    if (!base) ThrowErrno("can't map", "a segment");
    ::madvise(base, mapped, MADV_HUGEPAGE);
  }
  return std::shared_ptr<const Segment>(
      new Segment(std::move(fd), std::move(layout), base, mapped));
}

Tensor Segment::array(const std::string& name) const {
  const ArraySpec* spec = layout_.Find(name);
  if (!spec) Throw(ErrorCode::kNotFound, "segment has no array '", name, "'");
  auto self = std::const_pointer_cast<Segment>(shared_from_this());
  return Tensor(spec->dtype(), spec->shape, base_ + spec->offset, std::move(self));
}

void Segment::MapAhead() const noexcept { MapPagesAhead(base_, mapped_); }

SegmentPages Segment::pages() const {
  SegmentPages found;
  found.small_bytes = size();
  if (size() < kHugePage) return found;
  // The kernel reports only pages that were touched through the mapping. This function makes a
  // mapping of its own, because pages touched through the segment's mapping would stay resident
  // memory of this process.
  std::byte* const base = MapAligned(fd_.get(), mapped_, PROT_READ, MAP_SHARED);
  if (!base) return found;
  ::madvise(base, mapped_, MADV_HUGEPAGE);
  const uint64_t step = RoundUp(std::max<uint64_t>(mapped_ / kSampledPages, 1), kHugePage);
  uint64_t touched = 0;  // bytes that are mapped if all touched pages are huge
  for (uint64_t at = 0; at < mapped_; at += step) {
    static_cast<void>(*static_cast<const volatile std::byte*>(base + at));
    touched += std::min<uint64_t>(kHugePage, mapped_ - at);
  }
  const Mapped mapped = FindMapped(base);
  ::munmap(base, mapped_);
  if (mapped.is_hugetlb) {
    found = {PageKind::kHugetlb, size(), 0};
  } else {
    const double share = static_cast<double>(mapped.huge_bytes) / static_cast<double>(touched);
    const auto estimate = static_cast<uint64_t>(share * static_cast<double>(size()));
    found.huge_bytes = step == kHugePage ? mapped.huge_bytes : estimate;
    // The last huge page may extend beyond the end of the segment.
    found.huge_bytes = std::min(found.huge_bytes, size());
    found.small_bytes = size() - found.huge_bytes;
  }
  return found;
}

SegmentWriter::SegmentWriter(const std::string& name, SegmentLayout layout)
    : SegmentWriter(name, std::move(layout), kReserveLater) {
  Reserve(0, mapped_);
}

SegmentWriter::SegmentWriter(const std::string& name, SegmentLayout layout, ReserveLater)
    : name_(name), layout_(std::move(layout)) {
  const uint64_t wanted = layout_.total_bytes();
  // The administrator's pool of huge pages (hugetlb) is tried first. mmap reserves its pages, so
  // they can't run out later.
  if (wanted >= kHugePage) {
    fd_ = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
    mapped_ = RoundUp(wanted, kHugePage);
    if (fd_ && ::ftruncate(fd_.get(), static_cast<off_t>(mapped_)) == 0) {
      base_ = MapAligned(fd_.get(), mapped_, PROT_READ | PROT_WRITE, MAP_SHARED);
      is_reserved_ = base_ != nullptr;
      if (is_reserved_) return;
    }
  }
  fd_ = UniqueFd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_) ThrowErrno("can't create memory file", name);
  mapped_ = wanted;
  if (wanted == 0) return;
  if (::ftruncate(fd_.get(), static_cast<off_t>(wanted)) != 0) ThrowErrno("can't size", name);
  base_ = MapAligned(fd_.get(), mapped_, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (!base_) ThrowErrno("can't map", name);
  ::madvise(base_, mapped_, MADV_HUGEPAGE);
}

void SegmentWriter::Reserve(uint64_t offset, uint64_t bytes) {
  if (is_reserved_ || PopulateHugePages(base_ + offset, bytes, &no_huge_pages_)) return;
  const int error = errno;
  Throw(ErrorCode::kOverloaded, "the kernel has no ", HumanBytes(layout_.total_bytes()),
        " for segment ", name_, ": ", std::strerror(error),
        "; free memory or serve fewer partitions here");
}

SegmentWriter::~SegmentWriter() {
  if (base_) ::munmap(base_, mapped_);
}

std::span<std::byte> SegmentWriter::array_bytes(const std::string& name) {
  const ArraySpec* spec = layout_.Find(name);
  if (!spec) Throw(ErrorCode::kNotFound, "segment has no array '", name, "'");
  return {base_ + spec->offset, spec->bytes};
}

std::span<std::byte> SegmentWriter::array_bytes_checked(const std::string& name, DType dtype) {
  std::span<std::byte> raw = array_bytes(name);
  if (layout_.Find(name)->dtype() != dtype) {
    Throw(ErrorCode::kInvalid, "array '", name, "' holds ", DTypeName(layout_.Find(name)->dtype()),
          ", not ", DTypeName(dtype));
  }
  return raw;
}

std::shared_ptr<const Segment> SegmentWriter::Seal() && {
  // The kernel refuses F_SEAL_WRITE while a writable mapping exists.
  if (base_) ::munmap(std::exchange(base_, nullptr), mapped_);
  // If another thread has forked, the child also has the writable mapping until it calls exec.
  for (int tries = 0; ::fcntl(fd_.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0; tries++) {
    if (errno != EBUSY || tries == kMaxSealTries) ThrowErrno("can't seal", "a segment");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Segment::Map(std::move(fd_), std::move(layout_));
}

}  // namespace graphd
