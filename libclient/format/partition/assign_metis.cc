// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "base/strings.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "format/partition/metis_graph.h"
#include "format/partition/metis_run.h"
#include "format/partition/node_sequence.h"

namespace graphd {
namespace {

// Assigns blocks of consecutive nodes. Does so for each class separately, because no later step
// balances the classes.
std::vector<PartId> CutIntoBlocks(const BalanceTargets& targets, size_t nodes, size_t parts) {
  std::vector<size_t> sizes(std::max(targets.classes.size(), size_t{1})), next(sizes.size());
  for (size_t i = 0; i < nodes; i++) sizes[targets.ClassOf(i)]++;
  std::vector<PartId> owner(nodes);
  for (size_t i = 0; i < nodes; i++) {
    const size_t c = targets.ClassOf(i);
    owner[i] = static_cast<PartId>(next[c]++ * parts / sizes[c]);
  }
  return owner;
}

}  // namespace

NodeOwners AssignByMetis(const RawGraph& graph, const AssignOptions& options,
                         const StepProgress& progress) {
  const NodeSequence sequence(graph);
  const int64_t max_index = MaxMetisIndex(options.metis);
  uint64_t ends = 0;
  for (const RawEdges& edges : graph.edges) ends += 2 * static_cast<uint64_t>(edges.stored());
  // Check the memory for simplifying the graph first.
  const uint64_t bytes_per_end = options.edge_weights.empty() ? 4 : 8;
  const auto check_memory = [&](uint64_t needed, uint64_t neighbours) {
    CheckMemoryForMetis(needed, options.metis.max_bytes,
                        StrCat(sequence.size(), " nodes with ", neighbours, " neighbours"),
                        StrCat("use --part_method multilevel, ldg or fennel, which need about ",
                               HumanBytes(BytesForStreaming(sequence.size(), ends)),
                               " or, with --memory, less; or a machine with more memory"));
  };
  check_memory(bytes_per_end * ends + 16 * sequence.size(), ends);
  MetisGraph simple = MakeMetisGraph(graph, sequence, options.edge_weights, max_index);
  const BalanceTargets targets = FindBalanceTargets(graph, options);
  const auto parts = static_cast<size_t>(options.num_parts);
  if (sequence.size() <= 4 * parts || simple.neighbours.empty()) {
    return sequence.SplitByType(CutIntoBlocks(targets, sequence.size(), parts));
  }
  const size_t constraint_bound = targets.classes.size() * (options.balance_edges ? 2 : 1);
  check_memory(EstimateMetisBytes(sequence.size(), simple.neighbours.size(), constraint_bound),
               simple.neighbours.size());
  const NodeWeights weights(targets, sequence.size());
  return sequence.SplitByType(RunMetis(simple, weights, options, progress));
}

}  // namespace graphd
