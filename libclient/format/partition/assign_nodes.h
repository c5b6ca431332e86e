// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"
#include "format/io/step_progress.h"
#include "graphd/schema.h"

// The first step of partitioning: assigning each node to the partition that owns it.

namespace graphd {

inline constexpr int32_t kMaxParts = 16384;
// With multilevel, METIS partitions the first level of clusters that has at most a 256th of the
// graph's pairs of neighbours, or at most AssignOptions::coarsest_pairs if that is more.
inline constexpr uint64_t kCoarsestShare = 256;

enum class PartMethod { kMetis, kRandom, kHash, kFile, kLdg, kFennel, kMultilevel };
const char* PartMethodName(PartMethod method) noexcept;  // "metis", "random", ...
PartMethod PartMethodFromName(const std::string& name);  // Error(kInvalid) otherwise

// The objective that METIS minimises: edges between partitions, or (DGL: 'vol') the nodes that
// partitions need copies of.
enum class Objective { kCut, kVolume };
Objective ObjectiveFromName(const std::string& name);  // "cut", "vol"; Error(kInvalid) otherwise

// Limits for METIS. Unset ones are determined when METIS is used.
struct MetisBounds {
  int64_t max_index = 0;   // 0: the range of the library's integers
  uint64_t max_bytes = 0;  // 0: the available memory of the machine and the cgroup
};

// The options of the partition methods. Where DGL's partition_graph has an argument for the same
// purpose, the option has its name.
struct AssignOptions {
  int32_t num_parts = 1;
  PartMethod method = PartMethod::kMetis;
  uint64_t seed = 0;
  // The assignment for kFile: each element is "PATH", "TYPE=PATH", or a directory of TYPE.txt,
  // TYPE.txt.gz or TYPE.npy, with one number for each node of the type; DGL's random_partition.py
  // writes such a directory.
  std::vector<std::string> assignment;
  // Classes of nodes that are balanced separately: each element is "FEATURE", "TYPE/FEATURE",
  // "PATH" or "TYPE=PATH" and gives a class for every node of the type. Every other type is one
  // class, as in DGL.
  std::vector<std::string> balance_ntypes;
  bool balance_edges = false;  // balance in-degrees too
  std::string edge_weights;    // feature with edge weights, METIS only; "": equal weights
  Objective objective = Objective::kCut;
  // If T > 1, nodes are assigned to num_parts * T trainers, T per partition.
  int num_trainers_per_machine = 1;
  MetisBounds metis;
  // With multilevel, METIS partitions the first level of clusters with at most this many pairs of
  // neighbours, or a 256th of the graph's pairs if that is more.
  uint64_t coarsest_pairs = 1'000'000;
  // If set, ldg, fennel and multilevel keep the neighbours of all nodes in a file there. They write
  // it through a buffer of `spill_memory` bytes, and read all edges each time they fill the buffer.
  SpillFiles* spill = nullptr;
  uint64_t spill_memory = 0;
};

// Throws Error(kInvalid) for numbers out of range and for options that contradict the method.
// AssignNodes checks this, too; call it before reading a large input.
void CheckAssignOptions(const AssignOptions& options);

// The partition of each node: owners[node type][node]. Some partitions may own nothing.
using NodeOwners = std::vector<std::vector<PartId>>;

struct Assignment {
  NodeOwners owners;
  // The trainer of each node, 0 .. num_parts * T - 1, where T is num_trainers_per_machine. The
  // owner of a node is trainer / T. Empty if T is 1.
  NodeOwners trainers;
};

// Assigns all nodes. Deterministic: the same graph and options give the same assignment. Throws as
// the methods below do.
Assignment AssignNodes(const RawGraph& graph, const AssignOptions& options,
                       const StepProgress& progress = {});

// The methods follow. Each uses options.num_parts as it is and ignores num_trainers_per_machine.

// The random assignment of the nodes of one type: a hash of (seed, type, node) determines the owner
// of each node. Immutable.
class RandomAssignment {
 public:
  RandomAssignment(uint64_t seed, uint64_t ntype, int32_t num_parts)
      : type_key_(CombineKeys(seed, ntype)), num_parts_(static_cast<uint64_t>(num_parts)) {}
  PartId OwnerOf(uint64_t node) const noexcept {
    CounterRng rng(CombineKeys(type_key_, node));
    return static_cast<PartId>(rng.Below(num_parts_));
  }

 private:
  uint64_t type_key_, num_parts_;
};

// Assigns each node by a hash of (seed, type, node), so its owner is uniformly random, and the
// sizes of partitions vary by chance. Needs no memory besides the result. Both kRandom and kHash
// stand for this method.
NodeOwners AssignRandomly(const RawGraph& graph, int32_t num_parts, uint64_t seed);

// Reads the owners from options.assignment. Throws Error(kNotFound) if a file is missing,
// Error(kInvalid) for types without a file or with two, and Error(kCorrupt), which names line and
// value, for a number that is not a partition.
NodeOwners AssignByFile(const RawGraph& graph, const AssignOptions& options);

// Runs METIS's k-way partitioning of the graph without directions, types, self loops and repeated
// edges. Balances classes and in-degrees within 3 % if possible. Graphs of at most 4 nodes per
// partition or without edges are split into blocks of consecutive nodes. Throws Error(kInvalid) if
// the graph exceeds METIS's indices and Error(kOverloaded) if it would exceed the memory, both
// before METIS starts.
NodeOwners AssignByMetis(const RawGraph& graph, const AssignOptions& options,
                         const StepProgress& progress = {});

// Runs Linear Deterministic Greedy (Stanton and Kliot, KDD 2012) or Fennel (Tsourakakis et al.,
// WSDM 2014, gamma = 1.5), in up to ten passes over the nodes in the order of their ids. Needs 8
// bytes per stored edge (twice that beyond 2^32 nodes) of memory, or of disk with options.spill; 16
// or more bytes of memory per node; one thread; and time linear in the number of edges. No share of
// a class is more than 3 % above the average; with balance_edges, shares of in-degrees come as
// close to the average as this limit allows.
NodeOwners AssignByStream(const RawGraph& graph, const AssignOptions& options,
                          const StepProgress& progress = {});

// Runs a multilevel method that keeps the graph on the disk (Akhremtsev, Sanders, Schulz:
// (Semi-)External Algorithms for Graph Partitioning and Clustering, ALENEX 2015): groups nodes into
// clusters (cluster_nodes.h) and clusters into larger ones until METIS can partition the rest
// cheaply, and then improves the result from level to level (refine_parts.h). The neighbours take 8
// bytes per stored edge, and the clusters' edges come on top of these; both are in memory or, with
// options.spill, on the disk. Also needs up to 36 bytes of memory per node (more if classes or
// edges are balanced, see NodeWeights), the memory that METIS takes for the last level, and one
// thread. Repeated edges count as often as they occur. No share of a class is more than 3 % above
// the average; shares of in-degrees come close to it where possible. Throws Error(kInvalid) beyond
// 2^32 - 2 nodes or if the last level has more pairs than METIS can count, and Error(kOverloaded)
// if METIS would exceed the memory, both after the graph was coarsened.
NodeOwners AssignByMultilevel(const RawGraph& graph, const AssignOptions& options,
                              const StepProgress& progress = {});

}  // namespace graphd
