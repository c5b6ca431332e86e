// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"
#include "graphd/schema.h"

// The first step of partitioning: which partition owns each node.

namespace graphd {

inline constexpr PartId kMaxParts = 16384;

enum class PartMethod { kMetis, kRandom, kHash, kFile, kLdg, kFennel };
const char* PartMethodName(PartMethod method) noexcept;  // "metis", "random", ...
PartMethod PartMethodFromName(const std::string& name);  // Error(kInvalid) otherwise

// What METIS minimises: edges between partitions, or (DGL: 'vol') nodes that partitions need copies
// of.
enum class Objective { kCut, kVolume };
Objective ObjectiveFromName(const std::string& name);  // "cut", "vol"; Error(kInvalid) otherwise

// What METIS may take. Found out when it is used, where not set.
struct MetisBounds {
  int64_t max_index = 0;   // 0: what the library's integers hold
  uint64_t max_bytes = 0;  // 0: what machine and cgroup have left
};

// As the arguments of DGL's partition_graph, where they have the same name.
struct AssignOptions {
  PartId num_parts = 1;
  PartMethod method = PartMethod::kMetis;
  uint64_t seed = 0;
  // For kFile: each "PATH", "TYPE=PATH", or a directory of TYPE.txt, TYPE.txt.gz or TYPE.npy, one
  // number for each node of the type; DGL's random_partition.py writes such a directory.
  std::vector<std::string> assignment;
  // Each "FEATURE", "TYPE/FEATURE", "PATH" or "TYPE=PATH": a class for every node of the type; each
  // class is balanced by itself. Types that are not named are a class each, as in DGL.
  std::vector<std::string> balance_ntypes;
  bool balance_edges = false;  // balance in-degrees too
  std::string edge_weights;    // edge feature that weighs edges, METIS only; "": all the same
  Objective objective = Objective::kCut;
  // T > 1: nodes are assigned to num_parts * T trainers, T to a partition.
  int num_trainers_per_machine = 1;
  MetisBounds metis;
};

// Throws Error(kInvalid) for numbers out of range and for options that contradict the method.
// AssignNodes checks them too; call it before a long read of the input.
void CheckAssignOptions(const AssignOptions& options);

// owners[node type][node]: partition. Some partitions may own nothing.
using NodeOwners = std::vector<std::vector<PartId>>;

struct Assignment {
  NodeOwners owners;
  // By node, 0 .. num_parts * T - 1, the owner being trainer / T; empty if T is 1.
  NodeOwners trainers;
};

// Deterministic: the same graph and options give the same assignment.
Assignment AssignNodes(const RawGraph& graph, const AssignOptions& options,
                       const StepProgress& progress = {});

// The methods; each takes options.num_parts as it is and ignores num_trainers_per_machine.

// Every node's owner by a hash of (seed, type, node), which makes it uniformly random: no memory
// beside the result, and even up to chance. kRandom and kHash are the same.
NodeOwners AssignRandomly(const RawGraph& graph, PartId num_parts, uint64_t seed);

// Reads the owners from options.assignment. Throws Error(kNotFound), Error(kInvalid) for types
// without a file or with two, Error(kCorrupt) with line and value for what is no partition.
NodeOwners AssignByFile(const RawGraph& graph, const AssignOptions& options);

// METIS's k-way partitioning of the graph without directions, types, self loops and repeated edges.
// Balances classes and in-degrees within 3 % where it can. Graphs of at most 4 nodes a partition or
// without edges are cut into blocks of consecutive nodes. Throws Error(kInvalid) if the graph
// exceeds METIS's indices and Error(kOverloaded) if it would exceed the memory, both before it
// starts.
NodeOwners AssignByMetis(const RawGraph& graph, const AssignOptions& options,
                         const StepProgress& progress = {});

// Linear Deterministic Greedy (Stanton and Kliot, KDD 2012) or Fennel (Tsourakakis et al., WSDM
// 2014, gamma = 1.5), passing over the nodes in the order of their ids up to ten times. Needs 8
// bytes per stored edge and about 24 per node (twice that beyond 2^32 nodes), one thread, and time
// linear in edges. No share of a class is more than 3 % above the average; those of in-degrees are
// brought as near as the nodes' room allows.
NodeOwners AssignByStream(const RawGraph& graph, const AssignOptions& options,
                          const StepProgress& progress = {});

}  // namespace graphd
