// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphd/error.h"
#include "graphd/export.h"
#include "graphd/ids.h"

// The node types and canonical edge types of a graph, by integer id. A homogeneous graph has one
// node type "_N" and one edge type ("_N", "_E", "_N"), as in DGL.

namespace GRAPHD_EXPORT graphd {

// A source node type, a relation and a destination node type. Matches DGL's canonical edge type.
struct CanonicalEdgeType {
  std::string src, rel, dst;
  // Returns "src:rel:dst", as in part_config.json.
  std::string ToString() const { return src + ":" + rel + ":" + dst; }
  bool operator==(const CanonicalEdgeType&) const = default;
};

// The types of a graph. Immutable after construction and thread-safe. Accessors throw
// std::out_of_range on an id out of range.
class Schema {
 public:
  // Makes a schema without types.
  Schema() = default;
  // Assigns ids by position. Throws Error(kInvalid) on duplicate names, on an edge type with an
  // unknown node type and on an empty list of node types.
  Schema(std::vector<std::string> ntypes, std::vector<CanonicalEdgeType> etypes);
  // Returns the schema of a homogeneous graph.
  static Schema Homogeneous() { return Schema({"_N"}, {{"_N", "_E", "_N"}}); }

  // Returns the number of node types.
  int32_t num_ntypes() const noexcept { return static_cast<int32_t>(ntypes_.size()); }
  // Returns the number of edge types.
  int32_t num_etypes() const noexcept { return static_cast<int32_t>(etypes_.size()); }
  // Returns whether there is one node type and one edge type.
  bool is_homogeneous() const noexcept { return num_ntypes() == 1 && num_etypes() == 1; }

  // Returns the name of a node type.
  const std::string& ntype(NodeTypeId t) const { return ntypes_.at(static_cast<size_t>(t)); }
  // Returns the canonical name of an edge type.
  const CanonicalEdgeType& etype(EdgeTypeId e) const { return etypes_.at(static_cast<size_t>(e)); }
  // Returns the node type of the sources of an edge type.
  NodeTypeId src_type(EdgeTypeId e) const { return src_.at(static_cast<size_t>(e)); }
  // Returns the node type of the destinations of an edge type.
  NodeTypeId dst_type(EdgeTypeId e) const { return dst_.at(static_cast<size_t>(e)); }

  // Returns the id of a node type name. Throws Error(kNotFound), which lists the existing names.
  NodeTypeId NodeTypeIdOf(const std::string& name) const;
  // Returns the id of an edge type, given as "src:rel:dst" or as a relation. Throws
  // Error(kNotFound) on an unknown name, and Error(kInvalid) on a relation that several canonical
  // edge types have (DGL: "ambiguous").
  EdgeTypeId EdgeTypeIdOf(const std::string& name) const;

  bool operator==(const Schema& o) const { return ntypes_ == o.ntypes_ && etypes_ == o.etypes_; }

 private:
  std::vector<std::string> ntypes_;
  std::vector<CanonicalEdgeType> etypes_;
  std::vector<NodeTypeId> src_, dst_;
};

}  // namespace graphd
