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
// not mapped, so that memory holds one piece per thread, and a file that is truncated meanwhile is
// an error. Immutable; threads may read at once.
class StoredArray {
 public:
  // The array `spec` of a segment's file.
  StoredArray(ArraySpec spec, std::string path, std::shared_ptr<const UniqueFd> file);
  // An array in memory. `path` names its origin in messages.
  StoredArray(ArraySpec spec, std::string path, Tensor values);

  const ArraySpec& spec() const noexcept { return spec_; }
  uint64_t num_elements() const noexcept { return spec_.bytes / DTypeSize(spec_.dtype()); }
  // Returns `count` elements from element `begin` on, as they are stored: in `buffer`, which is
  // resized, or in the array's memory. Throws Error(kCorrupt) if the file is too short.
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
