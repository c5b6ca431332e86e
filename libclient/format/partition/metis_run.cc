// SPDX-License-Identifier: Apache-2.0
#include "format/partition/metis_run.h"

#include <metis.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <limits>
#include <mutex>
#include <thread>

#include "base/failure.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "base/threads/mutex.h"

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
      LogFailure("reporting the progress of METIS", [&] { Report(progress, stop); });
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  void Report(const StepProgress& progress, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (uint64_t seconds = 1; !stop.stop_requested(); seconds++) {
      wake_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (!stop.stop_requested()) progress(kStep, seconds, 0);
    }
  }

  static constexpr const char* kStep = "partitioning with METIS";
  Mutex mutex_;  // guards no data: it is needed to wait
  std::condition_variable_any wake_;
  std::jthread thread_;  // last member: it ends before the members that it uses
};

// METIS's vertex weights, [node][constraint]. Each quantity is a constraint, except quantities
// whose weights are all 0, because METIS can't balance such a constraint.
struct Constraints {
  idx_t count = 1;
  std::vector<idx_t> weights;  // empty: one constraint, in which all nodes weigh 1
};

// Returns the constraints for these weights. Quantities whose sum METIS can't count are scaled
// down; no weight becomes 0 by that.
Constraints MakeConstraints(const NodeWeights& weights, int64_t max_index) {
  Constraints constraints;
  if (weights.quantities() <= 1 && weights.are_of_single_nodes()) return constraints;
  const std::vector<uint64_t> sums = weights.Sums();
  std::vector<size_t> constraint_of(sums.size(), 0);
  std::vector<double> factor(sums.size(), 1);
  size_t count = 0;
  for (size_t q = 0; q < sums.size(); q++) {
    if (sums[q] > 0) constraint_of[q] = count++;
    if (sums[q] > static_cast<uint64_t>(max_index)) {
      factor[q] = static_cast<double>(max_index) / 2 / static_cast<double>(sums[q]);
    }
  }
  constraints.count = static_cast<idx_t>(count);
  constraints.weights.assign(weights.size() * count, 0);
  for (size_t i = 0; i < weights.size(); i++) {
    idx_t* row = constraints.weights.data() + i * count;
    weights.ForEach(i, [&](size_t quantity, uint64_t weight) {
      const double scaled = factor[quantity] * static_cast<double>(weight);
      row[constraint_of[quantity]] = std::max<idx_t>(static_cast<idx_t>(scaled), weight > 0);
    });
  }
  return constraints;
}

}  // namespace

void CheckMemoryForMetis(uint64_t needed, uint64_t bound, const std::string& graph,
                         const std::string& remedy) {
  const MemoryLimit limit = bound ? MemoryLimit{bound, "the bound given"} : AvailableMemory();
  if (needed <= limit.bytes) return;
  Throw(ErrorCode::kOverloaded, "METIS needs about ", HumanBytes(needed), " for ", graph,
        ", but only ", HumanBytes(limit.bytes), " are available (", limit.source, "); ", remedy);
}

int64_t MaxMetisIndex(const MetisBounds& bounds) noexcept {
  return bounds.max_index ? bounds.max_index : std::numeric_limits<idx_t>::max();
}

uint64_t BytesForStreaming(uint64_t nodes, uint64_t neighbours) noexcept {
  return 4 * neighbours + 32 * nodes;
}

std::vector<PartId> RunMetis(MetisGraph& graph, const NodeWeights& weights,
                             const AssignOptions& options, const StepProgress& progress) {
  Constraints constraints = MakeConstraints(weights, MaxMetisIndex(options.metis));
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
  return {owner.begin(), owner.end()};
}

}  // namespace graphd
