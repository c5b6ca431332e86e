// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "graph/encoding.h"
#include "graphd/tensor.h"

// Immutable memory that several processes share: named arrays in one sealed memfd. The daemon fills
// a segment once; trainers on the same machine receive its descriptor and map it read-only. It is
// sealed with F_SEAL_WRITE|GROW|SHRINK, so nobody can change or truncate it while it is read.
//
// Arrays begin at multiples of 64 bytes, and arrays of 2 MiB or more at multiples of 4096. A .seg
// file of graphd's own format has the same bytes as the segment.

namespace graphd {

// The description of an array in a segment.
struct ArraySpec {
  std::string name;
  Encoding encoding;
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // Returns the dtype in which the elements are stored.
  DType dtype() const noexcept { return encoding.stored; }
  bool operator==(const ArraySpec&) const = default;
};

// The table of a segment's arrays. It can be copied. Not thread-safe while it is being built.
class SegmentLayout {
 public:
  // Appends an array. Throws Error(kInvalid) on a duplicate name, a negative extent, a size that
  // does not fit 2^62 bytes, or an encoding that CheckEncoding refuses.
  const ArraySpec& Add(std::string name, const Encoding& encoding, std::vector<int64_t> shape);
  const ArraySpec& Add(std::string name, DType dtype, std::vector<int64_t> shape) {
    return Add(std::move(name), Encoding::Plain(dtype), std::move(shape));
  }
  // Rebuilds a table that came from a file or a peer. Throws Error(kCorrupt) if its offsets or
  // `total_bytes` differ from those that Add gives. `where` names the source in messages.
  static SegmentLayout FromTable(const std::vector<ArraySpec>& table, uint64_t total_bytes,
                                 const std::string& where);

  const std::vector<ArraySpec>& arrays() const noexcept { return arrays_; }
  uint64_t total_bytes() const noexcept { return total_; }
  const ArraySpec* Find(const std::string& name) const noexcept;

 private:
  std::vector<ArraySpec> arrays_;
  uint64_t total_ = 0;
};

// A kind of pages.
enum class PageKind { kSmall, kTransparentHuge, kHugetlb };
const char* PageKindName(PageKind kind) noexcept;  // "4 KiB", "2 MiB transparent", "2 MiB hugetlb"

// The kinds of pages that a segment is on.
struct SegmentPages {
  PageKind huge = PageKind::kTransparentHuge;  // the kind of its huge pages
  uint64_t huge_bytes = 0;                     // bytes of the segment on huge pages
  uint64_t small_bytes = 0;                    // all other bytes of the segment
  // Returns the kind that most bytes are on.
  PageKind most() const noexcept { return huge_bytes > small_bytes ? huge : PageKind::kSmall; }
};

// A mapped, sealed segment. Held by shared_ptr; every method is const and thread-safe.
class Segment : public std::enable_shared_from_this<Segment> {
 public:
  // Maps a sealed memfd received from a daemon. Throws Error(kCorrupt) if it is smaller than the
  // layout says, or is not sealed against writing, growing and shrinking.
  static std::shared_ptr<const Segment> Map(UniqueFd fd, SegmentLayout layout);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const SegmentLayout& layout() const noexcept { return layout_; }
  int fd() const noexcept { return fd_.get(); }
  uint64_t size() const noexcept { return layout_.total_bytes(); }
  // Returns the stored elements as a tensor that shares the mapping. Don't write to it: the pages
  // are read-only. Throws Error(kNotFound).
  Tensor array(const std::string& name) const;
  // Enters the segment's pages into this process's page table before they are first read, as far as
  // that is cheap (MapPagesAhead).
  void MapAhead() const noexcept;
  // Returns how much of the segment is on pages of 2 MiB and how much on small ones. Each call
  // makes a mapping of its own and asks the kernel about it (/proc/self/smaps). Counts all pages of
  // a segment of up to 8 GiB; for a larger one, the result is an estimate from a sample of its
  // pages. Counts all pages as small if the kernel can't tell.
  SegmentPages pages() const;

 private:
  friend class SegmentWriter;
  Segment(UniqueFd fd, SegmentLayout layout, std::byte* base, size_t mapped);
  UniqueFd fd_;
  SegmentLayout layout_;
  std::byte* base_;
  size_t mapped_;
};

// The writer of a new segment. One thread owns it, but several may fill disjoint arrays.
class SegmentWriter {
 public:
  // Tells the constructor not to reserve memory, because the caller will call Reserve for all parts
  // of the segment.
  enum ReserveLater { kReserveLater };

  // Makes the memory file and, without kReserveLater, makes the kernel allocate all its memory, so
  // that a shortage throws Error(kOverloaded) here instead of raising SIGBUS later. `name` appears
  // in /proc/PID/maps.
  SegmentWriter(const std::string& name, SegmentLayout layout);
  SegmentWriter(const std::string& name, SegmentLayout layout, ReserveLater);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  const SegmentLayout& layout() const noexcept { return layout_; }
  // Makes the kernel allocate the memory of a part, which begins at a multiple of 2 MiB. Several
  // threads may call it at the same time. Throws Error(kOverloaded) if memory is short.
  void Reserve(uint64_t offset, uint64_t bytes);
  // Returns the whole segment, which is zero at first.
  std::span<std::byte> bytes() noexcept { return {base_, layout_.total_bytes()}; }
  std::span<std::byte> array_bytes(const std::string& name);
  // Returns the elements of an array. Throws Error(kInvalid) if T is not its dtype.
  template <class T>
  std::span<T> array(const std::string& name) {
    std::span<std::byte> raw = array_bytes_checked(name, DTypeOf<T>());
    return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
  }
  // Unmaps the writable view, seals the memory and maps it read-only.
  std::shared_ptr<const Segment> Seal() &&;

 private:
  std::span<std::byte> array_bytes_checked(const std::string& name, DType dtype);
  const std::string name_;
  UniqueFd fd_;
  SegmentLayout layout_;
  std::byte* base_ = nullptr;
  size_t mapped_ = 0;
  bool is_reserved_ = false;
  std::atomic<bool> no_huge_pages_{false};  // the kernel has none left
};

}  // namespace graphd
