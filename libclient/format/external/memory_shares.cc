// SPDX-License-Identifier: Apache-2.0
#include "format/external/memory_shares.h"

#include <fcntl.h>

#include <algorithm>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/external/edge_segments.h"
#include "format/external/spilled_edges.h"
#include "format/io/spill_files.h"
#include "format/partition/metis_graph.h"
#include "format/partition/sorted_edges.h"

namespace graphd {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The memory for the program, its libraries and small objects, and for pages of mapped files that
// are touched before the limit is enforced.
constexpr uint64_t kProgramBytes = 40 * kMiB;
constexpr uint64_t kLeastMapped = 8 * kMiB, kMostMapped = 1024 * kMiB, kLeastWork = 16 * kMiB;

// Returns the usable part of the remaining memory: an eighth is kept for the allocator's losses.
uint64_t WorkOf(uint64_t rest) noexcept { return rest - rest / 8; }

bool IsNarrow(const RawGraph& graph, EdgeTypeId etype) {
  const RawEdges& edges = graph.edges[Index(etype)];
  const int64_t sources = graph.nodes[Index(graph.schema.src_type(etype))].count;
  return Partition::IdDType(sources) == DType::kUInt32 && edges.count() <= int64_t{UINT32_MAX};
}

size_t RowBytes(const RawGraph& graph, const StoragePlan& storage, EdgeTypeId etype) {
  size_t bytes = 0;
  for (const EdgeColumn& column : EdgeColumns(graph, storage, etype)) {
    bytes += column.stored_bytes();
  }
  return bytes;
}

// Returns the bytes that NodeWeights holds for clusters, if there are several quantities. On real
// graphs there are at most a third as many clusters as nodes.
uint64_t ClusterWeights(const RawGraph& graph, const AssignOptions& options, uint64_t nodes) {
  const uint64_t of_node = options.balance_edges ? 2 : 1;
  const uint64_t types = graph.nodes.size();
  if (types * of_node == 1 && options.balance_ntypes.empty()) return 0;
  uint64_t entries = nodes * of_node;
  if (options.balance_ntypes.empty()) entries = std::min(entries, nodes / 3 * types * of_node);
  return 16 * entries + 16 * (nodes / 3);
}

struct Size {
  uint64_t nodes = 0, pairs = 0;  // pairs of neighbours, in both directions
};

Size SizeOf(const RawGraph& graph) {
  Size size;
  for (const RawNodes& nodes : graph.nodes) size.nodes += Index(nodes.count);
  for (const RawEdges& edges : graph.edges) size.pairs += 2 * Index(edges.stored());
  return size;
}

// Returns the memory that METIS needs for the last level of multilevel. METIS needs more if
// clusters can't be joined further before the level is as small as is assumed here.
uint64_t LastLevelBytes(const RawGraph& graph, const AssignOptions& options) {
  if (options.method != PartMethod::kMultilevel) return 0;
  const auto [nodes, all_pairs] = SizeOf(graph);
  const uint64_t pairs =
      std::min(all_pairs, std::max(options.coarsest_pairs, all_pairs / kCoarsestShare));
  const uint64_t quantities = graph.nodes.size() * (options.balance_edges ? 2 : 1);
  return EstimateMetisBytes(std::min(nodes, pairs), pairs, quantities);
}

// Returns the most memory that is held for nodes at any time.
uint64_t NodeBytes(const RawGraph& graph, const AssignOptions& options) {
  uint64_t all = 0, largest = 0, ids = 0;
  for (const RawNodes& nodes : graph.nodes) {
    all += Index(nodes.count);
    largest = std::max(largest, Index(nodes.count));
    ids += Index(nodes.count) * DTypeSize(Partition::IdDType(nodes.count));
  }
  const uint64_t owners = all * sizeof(PartId);
  uint64_t classes = 0;  // BalanceTargets
  if (graph.nodes.size() > 1 || !options.balance_ntypes.empty()) classes += 4 * all;
  if (options.balance_edges) classes += 4 * all;
  if (!options.balance_ntypes.empty()) classes += 16 * all;  // while they are numbered
  uint64_t most = owners + ids;
  if (!options.balance_ntypes.empty()) most = std::max(most, owners + classes);
  switch (options.method) {
    case PartMethod::kFile:
      return std::max(most, owners + 8 * largest);
    case PartMethod::kLdg:
    case PartMethod::kFennel:
      // Memory holds, for each node, where its list of neighbours ends, and its owner; the owners
      // are there twice while they are split by type.
      return std::max(most, 8 * all + 2 * owners + classes);
    case PartMethod::kMultilevel:
      // The most memory is held while nodes are grouped (cluster_nodes.h), and later with the first
      // level of clusters.
      return std::max(most, 36 * all + classes + ClusterWeights(graph, options, all));
    default:
      return most;
  }
}

}  // namespace

void CheckLeastMemory(uint64_t memory) {
  const uint64_t least = kProgramBytes + kLeastMapped + 2 * kLeastWork;
  if (memory >= least) return;
  Throw(ErrorCode::kOverloaded, "--memory ", HumanBytes(memory), " is too little; give at least ",
        HumanBytes(least));
}

uint64_t MappedShare(uint64_t memory) noexcept {
  return std::clamp((memory - std::min(memory, kProgramBytes)) / 8, kLeastMapped, kMostMapped);
}

uint64_t CheckedWorkShare(const RawGraph& graph, const StoragePlan& storage,
                          const AssignOptions& options, uint64_t memory) {
  uint64_t least_work = std::max(kLeastWork, LastLevelBytes(graph, options));
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    least_work = std::max(least_work,
                          LeastSortMemory(Index(graph.edges[Index(e)].count()), IsNarrow(graph, e),
                                          RowBytes(graph, storage, e), options.num_parts));
  }
  const uint64_t nodes = NodeBytes(graph, options);
  const auto work = [&](uint64_t all) -> uint64_t {
    const uint64_t fixed = kProgramBytes + MappedShare(all) + nodes;
    return all > fixed ? WorkOf(all - fixed) : 0;
  };
  if (work(memory) >= least_work) return work(memory);
  uint64_t least = memory;
  while (work(least) < least_work) least += kMiB;
  Throw(ErrorCode::kOverloaded, "--memory ", HumanBytes(memory),
        " is too little for this graph: ", HumanBytes(nodes),
        " are held for its nodes with --part_method ", PartMethodName(options.method),
        "; give at least ", (least + kMiB - 1) / kMiB, "M");
}

uint64_t NeighbourBytesOnDisk(const RawGraph& graph, const AssignOptions& options) {
  const PartMethod method = options.method;
  if (method != PartMethod::kLdg && method != PartMethod::kFennel &&
      method != PartMethod::kMultilevel) {
    return 0;
  }
  const auto [nodes, pairs] = SizeOf(graph);
  const uint64_t id_bytes = nodes <= UINT32_MAX ? 4 : 8;
  // The first level of clusters has an id and a weight for each pair that is not within a cluster.
  return pairs * (id_bytes + (method == PartMethod::kMultilevel ? 8 : 0));
}

uint64_t EdgeBytesOnDisk(const RawGraph& graph, const StoragePlan& storage, EdgeTypeId etype) {
  return SpilledEdgeBytes(IsNarrow(graph, etype), RowBytes(graph, storage, etype));
}

uint64_t ExpectedBytes(const RawGraph& graph, const StoragePlan& storage) {
  uint64_t bytes = 0;
  for (size_t t = 0; t < graph.nodes.size(); t++) {
    const RawNodes& nodes = graph.nodes[t];
    uint64_t row = DTypeSize(storage.node_orig_ids[t].stored);
    for (size_t f = 0; f < nodes.features.size(); f++) {
      const Tensor& values = nodes.features[f].values;
      row += values.row_bytes() / DTypeSize(values.dtype()) *
             DTypeSize(storage.node_features[t][f].stored);
    }
    bytes += Index(nodes.count) * row;
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const auto nodes = Index(graph.nodes[Index(graph.schema.dst_type(e))].count);
    const int64_t sources = graph.nodes[Index(graph.schema.src_type(e))].count;
    uint64_t row = DTypeSize(Partition::IdDType(sources)) + RowBytes(graph, storage, e);
    if (storage.edge_orig_id) row += DTypeSize(storage.edge_orig_ids[Index(e)].stored);
    bytes += 8 * nodes + Index(graph.edges[Index(e)].count()) * row;
  }
  return bytes;
}

void CheckResident(uint64_t memory) {
  const UniqueFd statm = OpenFile("/proc/self/statm", O_RDONLY);
  const uint64_t own = ReadResidentMemory(statm.get()).own;
  if (own <= memory - std::min(memory, MappedShare(memory))) return;
  Throw(ErrorCode::kOverloaded, "--memory ", HumanBytes(memory), " is too little to read the ",
        "graph: ", HumanBytes(own), " are held so far, such as the names of nodes; give more, or ",
        "number the nodes in the input");
}

}  // namespace graphd
