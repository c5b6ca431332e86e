// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graphd/export.h"
#include "graphd/schema.h"

// Which partition owns which node and edge, and how the id spaces of a partitioned graph map onto
// one another. Matches dgl.distributed.GraphPartitionBook (RangePartitionBook and the older
// BasicPartitionBook), except that ids outside the range throw Error(kInvalid) where DGL answers
// with a partition that does not exist.
//
// Id spaces, all int64:
//   homogeneous id h    over all types, partition-major, type-minor (range books)
//   type-wise id (t,x)  what users see: 0 .. count(t)-1 for type t
//   local row           position of (t,x) among its owner's objects of type t: its feature row
//
// Immutable after construction; every method may be called from any thread.

namespace GRAPHD_EXPORT graphd {

// The map of one kind of object (nodes, or edges).
class IdMap {
 public:
  // Half-open range of homogeneous ids.
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const noexcept { return end - begin; }
    bool operator==(const Range&) const = default;
  };
  // ranges[t][p]: what partition p owns of type t. Throws Error(kCorrupt) unless the ranges, listed
  // partition by partition and by type id within one, tile [0, N) in order. Empty ranges are fine.
  // `what` ("node", "edge") is used in messages.
  static IdMap FromRanges(const char* what, std::vector<std::vector<Range>> ranges);
  // owner[x] = partition of id x; one type, homogeneous ids == type-wise ids (DGL's reshuffle=False
  // data). Local rows are ranks by ascending id. Throws Error(kCorrupt) on an owner that is not in
  // 0..num_parts-1.
  static IdMap FromOwners(const char* what, std::vector<int32_t> owner, PartId num_parts);

  IdMap() = default;

  PartId num_parts() const noexcept { return num_parts_; }
  int32_t num_types() const noexcept { return num_types_; }
  bool is_range() const noexcept { return owner_.empty(); }

  int64_t total() const noexcept { return total_; }   // objects of all types
  int64_t count(int32_t type) const;                  // objects of a type
  int64_t count_in(PartId part) const;                // objects a partition owns
  int64_t count_in(PartId part, int32_t type) const;  // ... of a type

  // Owner. DGL: nid2partid / eid2partid.
  PartId OwnerOfHomo(int64_t h) const;
  PartId Owner(int32_t type, int64_t x) const;
  // Homogeneous id -> (type, type-wise id). DGL: map_to_per_ntype / map_to_per_etype.
  std::pair<int32_t, int64_t> ToTyped(int64_t h) const;
  // Type-wise -> homogeneous. DGL: map_to_homo_nid / map_to_homo_eid.
  int64_t ToHomo(int32_t type, int64_t x) const;
  // Type-wise id -> row among the owner's objects of that type. DGL: nid2localnid(x, owner, ntype).
  int64_t LocalRow(int32_t type, int64_t x) const;
  // Homogeneous id -> position among all that its owner owns. DGL: nid2localnid(h, owner).
  int64_t LocalHomo(int64_t h) const;
  // Inverse of LocalRow. Throws Error(kInvalid) if `row` >= count_in(part, type).
  int64_t FromLocalRow(PartId part, int32_t type, int64_t row) const;
  // All type-wise ids a partition owns of a type, ascending. DGL: partid2nids / partid2eids.
  std::vector<int64_t> IdsOf(PartId part, int32_t type) const;

  // Range books only: type-wise ids that partition owns are [type_begin(p,t), +count_in(p,t)).
  int64_t type_begin(PartId part, int32_t type) const;
  // Range books only: the constructor's argument, for the wire and for part_config.json.
  const std::vector<std::vector<Range>>& ranges() const noexcept { return ranges_; }
  // Mapped books only: owner of each id.
  std::span<const int32_t> owners() const noexcept { return owner_; }

 private:
  [[noreturn]] void OutOfRange(const char* space, int64_t id, int64_t limit) const;
  void CheckType(int32_t type) const;
  void CheckPart(PartId part) const;

  const char* what_ = "node";
  PartId num_parts_ = 0;
  int32_t num_types_ = 0;
  int64_t total_ = 0;
  std::vector<std::vector<Range>> ranges_;  // [type][part]
  std::vector<std::vector<int64_t>> cum_;   // [type][part+1]: objects in partitions before
  std::vector<int64_t> flat_ends_;          // [part*T + type]: end of the range
  std::vector<int64_t> last_;               // [part]: end of the partition's homogeneous ids
  std::vector<int32_t> owner_;              // mapped books
  std::vector<int64_t> row_;                // mapped books: rank among the owner's
  std::vector<std::vector<int64_t>> ids_;   // mapped books: [part] ids, ascending
};

class PartitionBook {
 public:
  PartitionBook() = default;
  // Throws Error(kCorrupt) if the two maps disagree on the number of partitions.
  PartitionBook(IdMap nodes, IdMap edges);

  PartId num_partitions() const noexcept { return nodes_.num_parts(); }
  const IdMap& nodes() const noexcept { return nodes_; }  // types are NodeTypeId
  const IdMap& edges() const noexcept { return edges_; }  // types are EdgeTypeId

 private:
  IdMap nodes_, edges_;
};

}  // namespace graphd
