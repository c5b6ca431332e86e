// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/dgl/array.h"
#include "graphd/partition_book.h"

// The nodes (or edges) of a DGL partition graph that the partition owns, and the position of each
// among them. The others are halo copies of objects that other partitions own.
//
//   local     position in the file's columns
//   position  IdMap::LocalHomo of its global id: by type, then by ascending id
//
// In graphs that DGL reshuffled, the owned objects come first and in order: local == position, and
// no table is built. Graphs written with reshuffle=False may have any order.

namespace graphd {

class DglOwned {
 public:
  // The source of the columns. `what` and `path` appear in messages.
  struct Source {
    const char* what;         // "node", "edge"
    const std::string& path;  // path of the graph file
    const std::vector<DglNamedArray>& columns;
    const char* inner_column;  // "inner_node", "inner_edge"
  };

  // Reads the column _ID, and inner_* and _TYPE if they exist, and compares them with the book:
  // every object that the book assigns to `part` must appear once, and no other object may claim to
  // be owned. Throws Error(kCorrupt). Takes one sequential pass over each column.
  DglOwned(const Source& source, const IdMap& map, PartId part);

  // Returns the number of owned objects.
  size_t size() const noexcept { return size_; }
  bool in_order() const noexcept { return position_.empty(); }

  static constexpr uint64_t kNotOwned = UINT64_MAX;
  // Returns the position of a local object, or kNotOwned for a halo copy. Requires local < number
  // of local objects.
  uint64_t Position(size_t local) const noexcept {
    if (in_order()) return local < size_ ? local : kNotOwned;
    return position_[local];
  }
  // Returns the inverse of Position(). Requires position < size().
  size_t Local(size_t position) const noexcept {
    return in_order() ? position : static_cast<size_t>(local_[position]);
  }
  // Returns, for each owned object by position, its rank in local order among the owned objects of
  // its type. This rank is the row of its features in the file. Returns an empty vector if
  // in_order(), because the rank is then the local row.
  std::vector<uint64_t> FileRows(const IdMap& map, PartId part) const;

 private:
  void CheckId(const Source& source, const DglArray& ids, const IdMap& map, size_t i,
               int64_t id) const;
  void BuildTables(const Source& source, const DglArray& ids, const IdMap& map, PartId part);
  void CheckFlags(const Source& source) const;
  void CheckTypes(const Source& source, const IdMap& map, PartId part) const;

  size_t size_ = 0;
  std::vector<uint64_t> position_;  // by local id; empty if in_order()
  std::vector<uint64_t> local_;     // by position; empty if in_order()
};

// Returns the column called `name`, which must hold one integer per object. Throws Error(kCorrupt).
const DglArray& DglIdColumn(const DglOwned::Source& source, const char* name);

}  // namespace graphd
