// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/dgl/array.h"
#include "graphd/partition_book.h"

// Which of the nodes (or edges) in a DGL partition graph the partition owns, and the place of each
// among all it owns. The rest are halo copies of what other partitions own.
//
//   local     position in the file's columns
//   position  IdMap::LocalHomo of its global id: by type, then by ascending id
//
// In everything that DGL shuffled, the owned come first and in order: local == position, and no
// table is made. Data of reshuffle=False is in any order.

namespace graphd {

class DglOwned {
 public:
  // Where the columns come from, for messages and for finding them.
  struct Source {
    const char* what;         // "node", "edge"
    const std::string& path;  // of the graph file
    const std::vector<DglNamedArray>& columns;
    const char* inner_column;  // "inner_node", "inner_edge"
  };

  // Reads the columns _ID, and inner_* and _TYPE where they are, and holds them against the
  // book: every object that the book gives to `part` must be here once, no other may claim to be
  // owned. Throws Error(kCorrupt). Takes one sequential pass over each column.
  DglOwned(const Source& source, const IdMap& map, PartId part);

  // Number of owned objects.
  size_t size() const noexcept { return size_; }
  bool in_order() const noexcept { return position_.empty(); }

  static constexpr uint64_t kNotOwned = UINT64_MAX;
  // kNotOwned for halo copies. Requires local < number of local objects.
  uint64_t Position(size_t local) const noexcept {
    if (in_order()) return local < size_ ? local : kNotOwned;
    return position_[local];
  }
  // Inverse. Requires position < size().
  size_t Local(size_t position) const noexcept {
    return in_order() ? position : static_cast<size_t>(local_[position]);
  }
  // By position: rank in local order among the owned of its type, which is the row of its features
  // in the file. Empty if in_order(), where it is the local row.
  std::vector<uint64_t> FileRows(const IdMap& map, PartId part) const;

 private:
  void CheckId(const Source& source, const DglArray& ids, const IdMap& map, size_t i,
               int64_t id) const;
  void BuildTables(const Source& source, const DglArray& ids, const IdMap& map, PartId part);
  void CheckFlags(const Source& source) const;
  void CheckTypes(const Source& source, const IdMap& map, PartId part) const;

  size_t size_ = 0;
  std::vector<uint64_t> position_;  // by local; empty if in order
  std::vector<uint64_t> local_;     // by position; empty if in order
};

// The column called `name`, which must hold one integer per object. Throws Error(kCorrupt).
const DglArray& DglIdColumn(const DglOwned::Source& source, const char* name);

}  // namespace graphd
