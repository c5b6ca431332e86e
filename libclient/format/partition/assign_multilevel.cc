// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "format/partition/cluster_nodes.h"
#include "format/partition/coarse_graph.h"
#include "format/partition/metis_graph.h"
#include "format/partition/metis_run.h"
#include "format/partition/neighbours.h"
#include "format/partition/node_sequence.h"
#include "format/partition/node_weights.h"
#include "format/partition/refine_parts.h"

namespace graphd {
namespace {

// METIS gets the first level with few pairs (AssignOptions::coarsest_pairs, kCoarsestShare), or
// with this many clusters per partition. A larger level, for which METIS would need more memory,
// has not given better cuts.
constexpr uint64_t kCoarsestClusters = 60;
// A partition consists of at least this many clusters, so that METIS can balance them.
constexpr uint64_t kClustersPerPart = 18;
constexpr int kCoarsePasses = 10, kLastPasses = 16;

// A level of clusters.
struct Level {
  Level(const NeighbourLists& finer, const NodeWeights& finer_weights, Clusters of_finer,
        const AssignOptions& options, const std::function<void()>& pass_done)
      : clusters(std::move(of_finer)),
        graph(finer, clusters, options.spill, options.spill_memory, pass_done),
        weights(finer_weights, clusters.of, clusters.count) {}

  Clusters clusters;  // The clusters of the finer level's nodes
  CoarseGraph graph;
  NodeWeights weights;
};

class Multilevel {
 public:
  Multilevel(const RawGraph& graph, const AssignOptions& options, const StepProgress& progress)
      : options_(options),
        progress_(progress),
        sequence_(graph),
        parts_(static_cast<size_t>(options.num_parts)),
        targets_(FindBalanceTargets(graph, options)),
        neighbours_(graph, sequence_, options.spill, options.spill_memory),
        weights_(targets_, sequence_.size()) {}

  NodeOwners Run() {
    Coarsen();
    std::vector<PartId> owner = PartitionCoarsest();
    for (; !levels_.empty(); levels_.pop_back()) {
      RefineWithinRoom(Lists(), Weights(), parts_, kCoarsePasses, owner, ReportRefining());
      const std::vector<uint32_t>& cluster_of = levels_.back()->clusters.of;
      std::vector<PartId> finer(cluster_of.size());
      for (size_t i = 0; i < finer.size(); i++) finer[i] = owner[cluster_of[i]];
      owner = std::move(finer);
    }
    if (targets_.in_degrees.empty()) {
      RefineByPrices(Lists(), Weights(), parts_, owner, ReportRefining());
    }
    RefineWithinRoom(Lists(), Weights(), parts_, kLastPasses, owner, ReportRefining());
    return sequence_.SplitByType(owner);
  }

 private:
  // Return the lists and the weights of the coarsest level, or of the graph itself if there is no
  // level.
  NeighbourLists Lists() const {
    return levels_.empty() ? neighbours_.lists() : levels_.back()->graph.lists();
  }
  const NodeWeights& Weights() const {
    return levels_.empty() ? weights_ : levels_.back()->weights;
  }

  void Coarsen() {
    const uint64_t max_nodes =
        std::max<uint64_t>(sequence_.size() / (kClustersPerPart * parts_), 1);
    const uint64_t few_pairs =
        std::max(options_.coarsest_pairs, neighbours_.total() / kCoarsestShare);
    for (;;) {
      const NeighbourLists lists = Lists();
      if (lists.ids.size() <= few_pairs || lists.nodes() <= kCoarsestClusters * parts_) return;
      Clusters clusters =
          ClusterNodes(lists, Weights(), max_nodes, CombineKeys(options_.seed, levels_.size()),
                       ReportPasses("grouping nodes into clusters"));
      if (clusters.count > lists.nodes() - lists.nodes() / 20) return;  // it hardly helps
      levels_.push_back(std::make_unique<Level>(lists, Weights(), std::move(clusters), options_,
                                                ReportPasses("joining edges of clusters")));
    }
  }

  std::vector<PartId> PartitionCoarsest() const {
    const NeighbourLists lists = Lists();
    if (lists.nodes() <= 4 * parts_ || lists.ids.empty()) return CutIntoBlocks();
    CheckMemoryForMetis(
        EstimateMetisBytes(lists.nodes(), lists.ids.size(), Weights().quantities()),
        options_.metis.max_bytes,
        StrCat(lists.nodes(), " clusters of nodes with ", lists.ids.size(), " neighbours"),
        StrCat("give more --memory, or use --part_method ldg or fennel, which need about ",
               HumanBytes(BytesForStreaming(sequence_.size(), neighbours_.total())),
               " or, with --memory, less"));
    MetisGraph graph = MakeMetisGraph(lists, MaxMetisIndex(options_.metis));
    return RunMetis(graph, Weights(), options_, progress_);
  }

  // Assigns blocks of consecutive clusters with about the same numbers of nodes. The refinement
  // that follows balances their classes.
  std::vector<PartId> CutIntoBlocks() const {
    std::vector<PartId> owner(Lists().nodes());
    uint64_t before = 0;
    for (size_t i = 0; i < owner.size(); i++) {
      owner[i] = static_cast<PartId>(before * parts_ / sequence_.size());
      before += Weights().nodes_in(i);
    }
    return owner;
  }

  std::function<void()> ReportRefining() const {
    return ReportPasses(levels_.empty() ? "improving partitions"
                                        : "improving partitions of clusters");
  }

  // Reports the passes of a step of this level. Their number is not known in advance.
  std::function<void()> ReportPasses(const std::string& step) const {
    if (!progress_) return [] {};
    const std::string name = StrCat(step, ", level ", levels_.size());
    progress_(name, 0, 1);
    return [this, name, passes = uint64_t{0}]() mutable {
      passes++;
      progress_(name, passes, passes + 1);
    };
  }

  const AssignOptions& options_;
  const StepProgress& progress_;
  const NodeSequence sequence_;
  const size_t parts_;
  const BalanceTargets targets_;
  const Neighbours<uint32_t> neighbours_;
  const NodeWeights weights_;                   // The weights of the graph's nodes
  std::vector<std::unique_ptr<Level>> levels_;  // The finest level is first
};

}  // namespace

NodeOwners AssignByMultilevel(const RawGraph& graph, const AssignOptions& options,
                              const StepProgress& progress) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max() - 1;
  if (const uint64_t nodes = NodeSequence(graph).size(); nodes > kMost) {
    Throw(ErrorCode::kInvalid, "the graph has ", nodes,
          " nodes, --part_method multilevel takes at most ", kMost,
          "; use --part_method ldg or fennel, which have no such limit");
  }
  return Multilevel(graph, options, progress).Run();
}

}  // namespace graphd
