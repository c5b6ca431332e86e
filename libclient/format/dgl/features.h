// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/dgl/array.h"
#include "graph/partition.h"

// The features of a DGL partition: a tensor dictionary with keys "<node type>/<name>",
// "<src>:<rel>:<dst>/<name>", "<rel>/<name>" (DGL 0.6-0.9) or "<name>" (0.5, one type). Each array
// has one row per owned object of that type.

namespace graphd {

enum class FeatureKind { kNode, kEdge };

// An open features file, checked against the metadata: types, row counts, dtypes. Movable; not
// thread-safe.
class DglFeatures {
 public:
  // Reads the file's headers. Throws Error(kCorrupt).
  DglFeatures(const std::string& path, const GraphMeta& meta, PartId part, FeatureKind kind);

  // Returns the layout of the segment that Load fills.
  const SegmentLayout& layout() const noexcept { return layout_; }

  // Reads the rows into a new segment. `file_rows` gives, for each owned object by position
  // (owned.h), its row within its type in the file; it is empty if the file has the rows in the
  // order of positions. Calls `progress` with the bytes of each slice read.
  std::shared_ptr<const Segment> Load(const std::string& segment_name,
                                      const std::vector<uint64_t>& file_rows,
                                      const std::function<void(uint64_t)>& progress) const;

 private:
  struct Entry {
    std::string segment_name;
    DglArray array;
    size_t first_position;  // position of the type's first owned object
  };

  MappedFile file_;
  SegmentLayout layout_;
  std::vector<Entry> entries_;
};

}  // namespace graphd
