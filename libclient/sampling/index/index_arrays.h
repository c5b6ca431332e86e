// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/strings.h"
#include "graph/partition.h"

// Functions that open the arrays of an index segment. Internal to this folder.

namespace graphd {

// Returns the array `name` of a segment. Throws Error(kCorrupt) if it does not exist or has another
// dtype or shape.
inline Tensor IndexArray(const Segment& segment, const char* index, const char* name, DType dtype,
                         const std::vector<int64_t>& shape) {
  const ArraySpec* spec = segment.layout().Find(name);
  if (!spec) Throw(ErrorCode::kCorrupt, index, " index has no array '", name, "'");
  if (spec->dtype() != dtype || spec->shape != shape) {
    Throw(ErrorCode::kCorrupt, index, " index: array '", name, "' is ", DTypeName(spec->dtype()),
          " with ", spec->shape.empty() ? 1 : spec->shape[0], " rows, expected ", DTypeName(dtype),
          " with ", shape[0], "; it was built for another partition");
  }
  return segment.array(name);
}

// Does the same for an array of ids, which are uint32 or uint64. With `rows` < 0, any length is
// accepted.
inline IdSpan IndexIds(const Segment& segment, const char* index, const char* name, int64_t rows) {
  const ArraySpec* spec = segment.layout().Find(name);
  if (!spec) Throw(ErrorCode::kCorrupt, index, " index has no array '", name, "'");
  if (spec->shape.size() != 1 || (rows >= 0 && spec->shape[0] != rows)) {
    Throw(ErrorCode::kCorrupt, index, " index: array '", name, "' has ",
          spec->shape.empty() ? 1 : spec->shape[0], " rows, expected ", rows,
          "; it was built for another partition");
  }
  return IdSpan(segment.array(name));
}

}  // namespace graphd
