// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "format/io/name_table.h"
#include "graph/partition.h"
#include "graphd/schema.h"
#include "graphd/tensor.h"

// A whole graph in memory, numbered as in its input. Readers of raw inputs return it, and the
// partitioner takes it. An edge takes 8 bytes (two 32-bit ids) while every node type has < 2^32
// nodes. A plain value; not thread-safe while it is being changed.

namespace graphd {

// Maximum number of nodes or edges of one type; an input that claims more is damaged.
constexpr int64_t kMaxRawCount = int64_t{1} << 40;

struct RawFeature {
  std::string name;
  Tensor values;  // [nodes or stored edges, ...]
  // The texts that labels 0, 1 ... stand for; null for other features.
  std::shared_ptr<const NameTable> labels = nullptr;
  // The path of the file with these texts, if an earlier run wrote one and it was not read into
  // `labels`; else empty.
  std::string labels_file = {};
  // The number of nulls and empty cells in the input, which are NaN in `values`.
  uint64_t missing = 0;
};

struct RawNodes {
  int64_t count = 0;
  std::vector<RawFeature> features;
  // Names of the nodes in the input; null if its ids are numbers that are used as they are.
  std::shared_ptr<const NameTable> names;
  // The path of the file of node names, if an earlier run wrote one and it was not read into
  // `names`; else empty. If there is such a file, orig_id is the line number of a node's name in
  // it.
  std::string names_file;
  // int64 [count]: ids of an earlier input, which become orig_id instead of the ids of this input.
  std::optional<Tensor> orig_id;

  int64_t OriginalId(uint64_t i) const {
    return orig_id ? orig_id->as<int64_t>()[i] : static_cast<int64_t>(i);
  }
};

struct RawEdges {
  Tensor src, dst;  // both uint32 or both uint64, [stored edges]: type-wise ids, checked
  // If true, each stored edge stands for itself (edge id i) and for its reverse (id stored() + i),
  // which has the same features. Only a feature with count() rows has separate rows for reverse
  // edges. Self loops and multi-edges are reversed like any other edge. Requires one type at both
  // ends.
  bool add_reverse = false;
  std::vector<RawFeature> features;
  std::optional<Tensor> orig_id;  // int64 [stored edges]: as for nodes

  // Returns the original id of an edge. The original id of a reverse edge is the original id of its
  // edge plus the number of stored edges.
  int64_t OriginalId(uint64_t edge) const {
    if (!orig_id) return static_cast<int64_t>(edge);
    const auto original = orig_id->as<int64_t>();
    const bool reverse = edge >= original.size();
    return original[reverse ? edge - original.size() : edge] + (reverse ? stored() : 0);
  }
  int64_t stored() const { return src.num_rows(); }
  int64_t count() const { return add_reverse ? 2 * stored() : stored(); }

  // Calls f(edge id, source, destination) for each stored edge by ascending id.
  template <class F>
  void ForEachStored(F&& f) const {
    Visit([&](auto from, auto to) {
      for (size_t i = 0; i < from.size(); i++) f(i, uint64_t{from[i]}, uint64_t{to[i]});
    });
  }
  // Calls f(edge id, source, destination) for each edge, including reverse edges.
  template <class F>
  void ForEach(F&& f) const {
    ForEachIn(0, static_cast<size_t>(count()), f);
  }
  // Calls f(edge id, source, destination) for the edges begin <= id < end.
  template <class F>
  void ForEachIn(size_t begin, size_t end, F&& f) const {
    Visit([&](auto from, auto to) {
      const size_t stored = from.size();
      for (size_t i = begin; i < std::min(end, stored); i++) {
        f(i, uint64_t{from[i]}, uint64_t{to[i]});
      }
      for (size_t i = std::max(begin, stored); i < end; i++) {
        f(i, uint64_t{to[i - stored]}, uint64_t{from[i - stored]});
      }
    });
  }

 private:
  template <class F>
  void Visit(F&& f) const {
    IdSpan(src).Visit([&](auto from) {
      f(from, dst.as<std::remove_const_t<typename decltype(from)::value_type>>());
    });
  }
};

struct RawGraph {
  Schema schema;
  std::vector<RawNodes> nodes;  // by NodeTypeId
  std::vector<RawEdges> edges;  // by EdgeTypeId
};

// Adds the reverse of every edge. Edges within a node type are reversed in their own edge type
// (RawEdges::add_reverse); for each edge type src:rel:dst between two node types, a type
// dst:rev_rel:src that shares memory and features is appended. Throws Error(kInvalid) if a type of
// that name exists.
void AddReverseEdges(RawGraph& graph);

}  // namespace graphd
