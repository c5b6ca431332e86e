// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/dgl/array.h"
#include "graph/partition.h"

// Features of a DGL partition: a tensor dictionary with keys "<node type>/<name>",
// "<src>:<rel>:<dst>/<name>", "<rel>/<name>" (DGL 0.6-0.9) or "<name>" (0.5, one type), each with
// one row per owned object of that type.

namespace graphd {

enum class FeatureKind { kNode, kEdge };

// An open features file, checked against the meta: types, row counts, dtypes. Moving is fine; not
// thread-safe.
class DglFeatures {
 public:
  // Throws Error(kCorrupt).
  DglFeatures(const std::string& path, const GraphMeta& meta, PartId part, FeatureKind kind);

  // The segment that Load fills.
  const SegmentLayout& layout() const noexcept { return layout_; }

  // Reads the rows into a new segment. `file_rows` gives for each owned object, by position
  // (dgl_owned.h), the file's row within its type; empty if they agree. `progress` is called
  // with the bytes of each slice read.
  std::shared_ptr<const Segment> Load(const std::string& segment_name,
                                      const std::vector<uint64_t>& file_rows,
                                      const std::function<void(uint64_t)>& progress) const;

 private:
  struct Entry {
    std::string segment_name;
    DglArray array;
    size_t first_position;  // of the type's first object among the owned
  };

  MappedFile file_;
  SegmentLayout layout_;
  std::vector<Entry> entries_;
};

}  // namespace graphd
