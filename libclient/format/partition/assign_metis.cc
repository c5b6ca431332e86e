// SPDX-License-Identifier: Apache-2.0
#include <metis.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <limits>
#include <mutex>
#include <thread>

#include "base/memory_limit.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "format/partition/assign_nodes.h"
#include "format/partition/balance_targets.h"
#include "format/partition/metis_graph.h"
#include "format/partition/node_sequence.h"

namespace graphd {
namespace {

// Reports the elapsed seconds to `progress` from a thread of its own, because METIS reports no
// progress. The caller's thread must not use `progress` meanwhile. METIS runs on the caller's
// thread, and signals are delivered only there, because METIS's signal handlers jump back into its
// own call.
class Stopwatch {
 public:
  explicit Stopwatch(const StepProgress& progress) {
    if (!progress) return;
    progress(kStep, 0, 0);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::jthread([this, &progress](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      for (uint64_t seconds = 1; !stop.stop_requested(); seconds++) {
        wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
        if (!stop.stop_requested()) progress(kStep, seconds, 0);
      }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  static constexpr const char* kStep = "partitioning with METIS";
  Mutex mutex_;  // guards no data: it is needed to wait
  std::condition_variable_any wake_;
  std::jthread thread_;  // last member: it ends before the members that it uses
};

// METIS's vertex weights, [node][constraint]: the nodes of each class, then the edges at them.
struct Constraints {
  idx_t count = 1;
  std::vector<idx_t> weights;  // empty: one constraint, in which all nodes weigh 1
};

Constraints MakeConstraints(const BalanceTargets& targets, size_t nodes, int64_t max_index) {
  const size_t classes = targets.classes.size();
  Constraints constraints;
  if (classes <= 1 && targets.in_degrees.empty()) return constraints;
  // METIS can't balance a constraint whose weights are all 0.
  std::vector<uint64_t> edges(classes, 0);
  for (size_t i = 0; i < targets.in_degrees.size(); i++) {
    edges[targets.ClassOf(i)] += targets.in_degrees[i];
  }
  std::vector<size_t> edge_constraint(classes, 0);
  size_t count = classes;
  for (size_t c = 0; c < classes; c++) {
    if (edges[c] > static_cast<uint64_t>(max_index)) {
      ThrowTooLargeForMetis("edges to balance", edges[c], max_index);
    }
    if (edges[c] > 0) edge_constraint[c] = count++;
  }
  constraints.count = static_cast<idx_t>(count);
  constraints.weights.assign(nodes * count, 0);
  for (size_t i = 0; i < nodes; i++) {
    idx_t* row = constraints.weights.data() + i * count;
    const size_t c = targets.ClassOf(i);
    row[c] = 1;
    if (edge_constraint[c]) row[edge_constraint[c]] = static_cast<idx_t>(targets.in_degrees[i]);
  }
  return constraints;
}

void CheckMemoryForMetis(uint64_t needed, uint64_t nodes, uint64_t neighbours, uint64_t bound) {
  const MemoryLimit limit = bound ? MemoryLimit{bound, "the bound given"} : AvailableMemory();
  if (needed <= limit.bytes) return;
  Throw(ErrorCode::kOverloaded, "METIS needs about ", HumanBytes(needed), " for ", nodes,
        " nodes with ", neighbours, " neighbours, but only ", HumanBytes(limit.bytes),
        " are available (", limit.source, "); use --part_method ldg or fennel, which need about ",
        HumanBytes(4 * neighbours + 32 * nodes), ", or a machine with more memory");
}

// Assigns blocks of consecutive nodes, class by class.
std::vector<idx_t> CutIntoBlocks(const BalanceTargets& targets, size_t nodes, size_t parts) {
  std::vector<size_t> sizes(std::max(targets.classes.size(), size_t{1})), next(sizes.size());
  for (size_t i = 0; i < nodes; i++) sizes[targets.ClassOf(i)]++;
  std::vector<idx_t> owner(nodes);
  for (size_t i = 0; i < nodes; i++) {
    const size_t c = targets.ClassOf(i);
    owner[i] = static_cast<idx_t>(next[c]++ * parts / sizes[c]);
  }
  return owner;
}

std::vector<idx_t> RunMetis(MetisGraph& graph, Constraints& constraints,
                            const AssignOptions& options, const StepProgress& progress) {
  auto nodes = static_cast<idx_t>(graph.offsets.size() - 1);
  std::vector<idx_t> owner(static_cast<size_t>(nodes));
  idx_t settings[METIS_NOPTIONS];
  METIS_SetDefaultOptions(settings);
  settings[METIS_OPTION_SEED] = static_cast<idx_t>(options.seed & 0x7fffffff);
  settings[METIS_OPTION_NUMBERING] = 0;
  settings[METIS_OPTION_OBJTYPE] =
      options.objective == Objective::kCut ? METIS_OBJTYPE_CUT : METIS_OBJTYPE_VOL;
  const auto data = [](std::vector<idx_t>& values) {
    return values.empty() ? nullptr : values.data();
  };
  idx_t parts = options.num_parts, cut = 0;
  const Stopwatch stopwatch(progress);
  const int status =
      METIS_PartGraphKway(&nodes, &constraints.count, graph.offsets.data(), graph.neighbours.data(),
                          data(constraints.weights), nullptr, data(graph.weights), &parts, nullptr,
                          nullptr, settings, &cut, owner.data());
  if (status == METIS_ERROR_MEMORY) {
    Throw(ErrorCode::kOverloaded, "METIS has too little memory for ", nodes, " nodes with ",
          graph.neighbours.size(), " neighbours; use --part_method ldg or fennel");
  }
  if (status != METIS_OK) {
    Throw(ErrorCode::kInternal, "METIS failed or was ended by a signal (status ", status,
          "); use --part_method ldg or fennel");
  }
  return owner;
}

}  // namespace

NodeOwners AssignByMetis(const RawGraph& graph, const AssignOptions& options,
                         const StepProgress& progress) {
  const NodeSequence sequence(graph);
  const int64_t max_index =
      options.metis.max_index ? options.metis.max_index : std::numeric_limits<idx_t>::max();
  uint64_t ends = 0;
  for (const RawEdges& edges : graph.edges) ends += 2 * static_cast<uint64_t>(edges.stored());
  // Check the memory for simplifying the graph first.
  const uint64_t bytes_per_end = options.edge_weights.empty() ? 4 : 8;
  CheckMemoryForMetis(bytes_per_end * ends + 16 * sequence.size(), sequence.size(), ends,
                      options.metis.max_bytes);
  MetisGraph simple = MakeMetisGraph(graph, sequence, options.edge_weights, max_index);
  const BalanceTargets targets = FindBalanceTargets(graph, options);
  const auto parts = static_cast<size_t>(options.num_parts);
  if (sequence.size() <= 4 * parts || simple.neighbours.empty()) {
    return sequence.SplitByType(CutIntoBlocks(targets, sequence.size(), parts));
  }
  const size_t constraint_bound = targets.classes.size() * (options.balance_edges ? 2 : 1);
  CheckMemoryForMetis(
      EstimateMetisBytes(sequence.size(), simple.neighbours.size(), constraint_bound),
      sequence.size(), simple.neighbours.size(), options.metis.max_bytes);
  Constraints constraints = MakeConstraints(targets, sequence.size(), max_index);
  return sequence.SplitByType(RunMetis(simple, constraints, options, progress));
}

}  // namespace graphd
