// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graphd/export.h"
#include "graphd/schema.h"

// The assignment of nodes and edges to partitions, and the conversion between the id spaces of a
// partitioned graph. Matches dgl.distributed.GraphPartitionBook (RangePartitionBook and the older
// BasicPartitionBook), except that ids out of range throw Error(kInvalid), where DGL returns a
// partition that does not exist.
//
// The id spaces, all int64:
//   homogeneous id h    0 .. N-1 over all types; in maps made by IdMap::FromRanges, ordered by
//                       partition, then by type
//   type-wise id (t,x)  0 .. count(t)-1 for type t; used throughout the interface
//   local row           position of (t,x) among the objects (nodes or edges) of type t that its
//                       partition owns; features have their rows in this order
//
// The classes are immutable after construction and thread-safe.

namespace GRAPHD_EXPORT graphd {

// The assignment of the nodes, or of the edges, of a graph to partitions. Its methods throw
// Error(kInvalid) on a type, partition or id out of range.
class IdMap {
 public:
  // Half-open range of homogeneous ids.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const noexcept { return end - begin; }
    bool operator==(const Range&) const = default;
  };
  // Makes a map from ranges: partition p owns ranges[t][p] of type t. Throws Error(kCorrupt) unless
  // the ranges, ordered by partition and then by type id, tile [0, N). Ranges may be empty. `what`
  // ("node" or "edge") is used in messages.
  static IdMap FromRanges(const char* what, std::vector<std::vector<Range>> ranges);
  // Makes a map from the owner of each id, owner[x]. It has one type, and homogeneous ids equal
  // type-wise ids (DGL's data with reshuffle=False). The local row of an id is its rank among its
  // owner's ids in ascending order. Throws Error(kCorrupt) on an owner outside 0..num_parts-1.
  static IdMap FromOwners(const char* what, std::vector<int32_t> owner, int32_t num_parts);

  // Makes an empty map without partitions and types.
  IdMap() = default;

  // Returns the number of partitions.
  int32_t num_parts() const noexcept { return num_parts_; }
  // Returns the number of types.
  int32_t num_types() const noexcept { return num_types_; }
  // Returns whether the map was made by FromRanges.
  bool is_range() const noexcept { return owner_.empty(); }

  // Returns the number of objects of all types.
  int64_t total() const noexcept { return total_; }
  // Returns the number of objects of a type.
  int64_t count(int32_t type) const;
  // Returns the number of objects that a partition owns.
  int64_t count_in(PartId part) const;
  // Returns the number of objects of a type that a partition owns.
  int64_t count_in(PartId part, int32_t type) const;

  // Returns the partition that owns a homogeneous id. DGL: nid2partid, eid2partid.
  PartId OwnerOfHomo(int64_t h) const;
  // Returns the partition that owns a type-wise id. DGL: nid2partid, eid2partid with a type.
  PartId Owner(int32_t type, int64_t x) const;
  // Converts a homogeneous id to (type, type-wise id). DGL: map_to_per_ntype, map_to_per_etype.
  std::pair<int32_t, int64_t> ToTyped(int64_t h) const;
  // Converts a type-wise id to a homogeneous id. DGL: map_to_homo_nid, map_to_homo_eid.
  int64_t ToHomo(int32_t type, int64_t x) const;
  // Converts a type-wise id to its row among the owner's objects of the type. DGL: nid2localnid(x,
  // owner, ntype).
  int64_t LocalRow(int32_t type, int64_t x) const;
  // Converts a homogeneous id to its position among all objects of its owner. DGL: nid2localnid(h,
  // owner).
  int64_t LocalHomo(int64_t h) const;
  // Converts a local row to a type-wise id; the inverse of LocalRow. Throws Error(kInvalid) if
  // `row` is not below count_in(part, type).
  int64_t FromLocalRow(PartId part, int32_t type, int64_t row) const;
  // Returns the type-wise ids of a type that a partition owns, in ascending order. DGL:
  // partid2nids, partid2eids.
  std::vector<int64_t> IdsOf(PartId part, int32_t type) const;

  // Returns the first of the consecutive type-wise ids, count_in(part, type) in all, that a
  // partition owns of a type. Only for maps made by FromRanges.
  int64_t type_begin(PartId part, int32_t type) const;
  // Returns the argument of FromRanges. Only for maps made by FromRanges.
  const std::vector<std::vector<Range>>& ranges() const noexcept { return ranges_; }
  // Returns the owner of each id, or an empty span if the map was not made by FromOwners.
  std::span<const int32_t> owners() const noexcept { return owner_; }

 private:
  [[noreturn]] void OutOfRange(const char* space, int64_t id, int64_t limit) const;
  void CheckType(int32_t type) const;
  void CheckPart(PartId part) const;

  const char* what_ = "node";
  int32_t num_parts_ = 0;
  int32_t num_types_ = 0;
  int64_t total_ = 0;
  std::vector<std::vector<Range>> ranges_;  // [type][part]
  std::vector<std::vector<int64_t>> cum_;   // [type][part+1]: objects in preceding partitions
  std::vector<int64_t> flat_ends_;          // [part*T + type]: end of the range
  std::vector<int64_t> last_;               // [part]: end of the homogeneous ids of the partition
  std::vector<int32_t> owner_;              // FromOwners: owner of each id
  std::vector<int64_t> row_;                // FromOwners: rank of each id among its owner's ids
  std::vector<std::vector<int64_t>> ids_;   // FromOwners: [part] ids, ascending
};

// The map of the nodes or of the edges of a graph. It has the methods of IdMap, but passing a type
// of the other kind (an edge type to a map of nodes) does not compile.
template <class TypeId>
class TypedIdMap : public IdMap {
 public:
  TypedIdMap() = default;
  explicit TypedIdMap(IdMap map) : IdMap(std::move(map)) {}

  int64_t count(TypeId type) const { return IdMap::count(type); }
  int64_t count_in(PartId part) const { return IdMap::count_in(part); }
  int64_t count_in(PartId part, TypeId type) const { return IdMap::count_in(part, type); }
  PartId Owner(TypeId type, int64_t x) const { return IdMap::Owner(type, x); }
  std::pair<TypeId, int64_t> ToTyped(int64_t h) const { return IdMap::ToTyped(h); }
  int64_t ToHomo(TypeId type, int64_t x) const { return IdMap::ToHomo(type, x); }
  int64_t LocalRow(TypeId type, int64_t x) const { return IdMap::LocalRow(type, x); }
  int64_t FromLocalRow(PartId part, TypeId type, int64_t row) const {
    return IdMap::FromLocalRow(part, type, row);
  }
  std::vector<int64_t> IdsOf(PartId part, TypeId type) const { return IdMap::IdsOf(part, type); }
  int64_t type_begin(PartId part, TypeId type) const { return IdMap::type_begin(part, type); }
};
using NodeMap = TypedIdMap<NodeTypeId>;
using EdgeMap = TypedIdMap<EdgeTypeId>;

// The id maps of the nodes and of the edges of a graph.
class PartitionBook {
 public:
  // Makes an empty book without partitions.
  PartitionBook() = default;
  // Makes a book of two maps. Throws Error(kCorrupt) if they have different numbers of partitions.
  PartitionBook(IdMap nodes, IdMap edges);

  // Returns the number of partitions.
  int32_t num_partitions() const noexcept { return nodes_.num_parts(); }
  // Returns the map of the nodes.
  const NodeMap& nodes() const noexcept { return nodes_; }
  // Returns the map of the edges.
  const EdgeMap& edges() const noexcept { return edges_; }
  // Returns the map of the edges or of the nodes, for code that handles both.
  const IdMap& map(bool is_edge) const noexcept {
    if (is_edge) return edges_;
    return nodes_;
  }

 private:
  NodeMap nodes_;
  EdgeMap edges_;
};

}  // namespace graphd
