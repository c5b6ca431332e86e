// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphd/error.h"
#include "graphd/export.h"

// Node types and canonical edge types of a graph, by integer id. Immutable after construction and
// safe to share between threads. A homogeneous graph has one node type "_N" and one edge type
// ("_N", "_E", "_N"), as in DGL.

namespace GRAPHD_EXPORT graphd {

using NodeTypeId = int32_t;  // 0 .. num_ntypes()-1
using EdgeTypeId = int32_t;  // 0 .. num_etypes()-1
using PartId = int32_t;      // 0 .. num_partitions()-1

// Source node type, relation, destination node type. Matches DGL's canonical edge type.
struct CanonicalEdgeType {
  std::string src, rel, dst;
  // "src:rel:dst", as in part_config.json.
  std::string ToString() const { return src + ":" + rel + ":" + dst; }
  bool operator==(const CanonicalEdgeType&) const = default;
};

class Schema {
 public:
  Schema() = default;
  // Type ids are positions. Throws Error(kInvalid) on duplicate names, on an edge type whose end is
  // no node type, and on no node type at all.
  Schema(std::vector<std::string> ntypes, std::vector<CanonicalEdgeType> etypes);
  static Schema Homogeneous() { return Schema({"_N"}, {{"_N", "_E", "_N"}}); }

  NodeTypeId num_ntypes() const noexcept { return static_cast<NodeTypeId>(ntypes_.size()); }
  EdgeTypeId num_etypes() const noexcept { return static_cast<EdgeTypeId>(etypes_.size()); }
  bool is_homogeneous() const noexcept { return num_ntypes() == 1 && num_etypes() == 1; }

  const std::string& ntype(NodeTypeId t) const { return ntypes_.at(static_cast<size_t>(t)); }
  const CanonicalEdgeType& etype(EdgeTypeId e) const { return etypes_.at(static_cast<size_t>(e)); }
  NodeTypeId src_type(EdgeTypeId e) const { return src_.at(static_cast<size_t>(e)); }
  NodeTypeId dst_type(EdgeTypeId e) const { return dst_.at(static_cast<size_t>(e)); }

  // Id of a node type name. Throws Error(kNotFound) listing the names there are.
  NodeTypeId NodeTypeIdOf(const std::string& name) const;
  // Id of an edge type given as "src:rel:dst" or as a relation. Throws Error(kNotFound), or
  // Error(kInvalid) for a relation that several canonical types share (DGL: "ambiguous").
  EdgeTypeId EdgeTypeIdOf(const std::string& name) const;

  bool operator==(const Schema& o) const { return ntypes_ == o.ntypes_ && etypes_ == o.etypes_; }

 private:
  std::vector<std::string> ntypes_;
  std::vector<CanonicalEdgeType> etypes_;
  std::vector<NodeTypeId> src_, dst_;
};

}  // namespace graphd
