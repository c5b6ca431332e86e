// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/partition/assign_nodes.h"

// The quantities of which partitions should have equal shares: the nodes of each class and, if
// requested, the in-edges of the nodes of each class.

namespace graphd {

struct BalanceTargets {
  std::vector<std::string> classes;  // names: "_N", "paper", "paper/label=3"; no class is empty
  std::vector<uint32_t> class_of;    // by position in the NodeSequence; empty: one class
  std::vector<uint32_t> in_degrees;  // by position in the NodeSequence; empty: not balanced

  size_t ClassOf(size_t node) const { return class_of.empty() ? 0 : class_of[node]; }
};

// Returns the targets. The classes are the node types, unless options.balance_ntypes splits them.
// Throws Error(kNotFound) or Error(kInvalid) if balance_ntypes names a missing feature or file,
// values that are not integers, or more than 1024 classes.
BalanceTargets FindBalanceTargets(const RawGraph& graph, const AssignOptions& options);

// The largest share of a class, divided by the average one, that ldg, fennel and multilevel allow.
inline constexpr double kMaxImbalance = 1.03;

// Returns how much of a total a partition may hold: kMaxImbalance times the partition's equal
// share, or the equal share rounded up if that is more.
uint64_t PartitionRoom(uint64_t total, size_t parts) noexcept;

// Each partition's share of a class.
struct ClassShares {
  std::string name;
  std::vector<int64_t> nodes;  // by partition
  std::vector<int64_t> edges;  // in-edges, by partition; empty unless edges are balanced
};

// Returns the shares by class; empty unless options.balance_ntypes splits a type.
std::vector<ClassShares> CountClasses(const RawGraph& graph, const AssignOptions& options,
                                      const NodeOwners& owners);

// Returns the largest share divided by the average one; 1 means even. Returns 1 if all shares are
// 0.
double Imbalance(const std::vector<int64_t>& shares) noexcept;

}  // namespace graphd
