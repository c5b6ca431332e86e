// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graph/segment.h"

namespace graphd::ctl {

// An array of a partition that is read in pieces, from a file or from memory. Files are read and
// not mapped, so that only one piece per thread is in memory, and a file that is truncated while it
// is read causes an Error instead of a signal. Immutable; several threads may read at the same
// time.
class StoredArray {
 public:
  // Refers to the array `spec` in the file of a segment.
  StoredArray(ArraySpec spec, std::string path, std::shared_ptr<const UniqueFd> file);
  // Refers to an array in memory. `path` is shown in messages as its origin.
  StoredArray(ArraySpec spec, std::string path, Tensor values);

  const ArraySpec& spec() const noexcept { return spec_; }
  uint64_t num_elements() const noexcept { return spec_.bytes / DTypeSize(spec_.dtype()); }
  // Returns `count` elements from element `begin` on, as they are stored. The result refers to
  // `buffer`, which is resized, or to the array's own memory. Throws Error(kCorrupt) if the file is
  // too short.
  std::span<const std::byte> Read(uint64_t begin, size_t count,
                                  std::vector<std::byte>& buffer) const;
  // Describes the place of an element: "part0/graph.seg: array 'csc/0/indices', element 7".
  std::string At(uint64_t element) const;

 private:
  ArraySpec spec_;
  std::string path_;
  std::shared_ptr<const UniqueFd> file_;  // null: the elements are in values_
  Tensor values_;
};

}  // namespace graphd::ctl
