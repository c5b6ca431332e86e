// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

// What the partitions shall have equal shares of: the nodes of each class, and, if asked for, the
// edges that point at the nodes of each class.

namespace graphd {

struct BalanceTargets {
  std::vector<std::string> classes;  // names: "_N", "paper", "paper/label=3"; none is empty
  std::vector<uint32_t> class_of;    // by place in the NodeSequence; empty: one class
  std::vector<uint32_t> in_degrees;  // by place in the NodeSequence; empty: not balanced

  size_t ClassOf(size_t node) const { return class_of.empty() ? 0 : class_of[node]; }
};

// The classes are the node types, unless options.balance_ntypes splits them. Throws Error(kInvalid)
// or Error(kNotFound) if that names what is not there, values that are no integers, or more than
// 1024 classes.
BalanceTargets FindBalanceTargets(const RawGraph& graph, const AssignOptions& options);

// What each partition got of a class.
struct ClassShares {
  std::string name;
  std::vector<int64_t> nodes;  // by partition
  std::vector<int64_t> edges;  // in-edges, by partition; empty unless edges are balanced
};

// By class; empty unless options.balance_ntypes splits a type.
std::vector<ClassShares> CountClasses(const RawGraph& graph, const AssignOptions& options,
                                      const NodeOwners& owners);

// The largest share over the average one: 1 is even. 1 if there is nothing to share.
double Imbalance(const std::vector<int64_t>& shares) noexcept;

}  // namespace graphd
