// SPDX-License-Identifier: Apache-2.0
// Measures how much a greedy job slows the steps of another job of the same daemon: the median and
// the 90th percentile of the other job's steps, alone and beside a job with eight connections that
// asks for as much as it can. Both jobs use RPC over the Unix socket. The clients of the greedy job
// run at a lower priority, so that the result shows how the daemon shares its time, not how the
// kernel does. (Run it as root: other users can only lower priorities.)
//
// usage: fair_shares [SECONDS]
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/support/bench_graph.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sampling.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 300'000, kDegree = 20, kColumns = 100;
constexpr int64_t kRows = 400'000, kDim = 128;
constexpr int kGreedyConnections = 8;
int greedy_priority = 19;

// A trainer of a job, and what it does in a step.
class Trainer {
 public:
  Trainer(const ServedGraph& served, const std::string& job, int rank, int world_size)
      : graph_(Initialize(OptionsOf(served, job, rank, world_size))),
        sums_(DistTensor::Create(graph_, Sums())) {}

  void SampleHop(int64_t seeds, int fanout) {
    const auto ids = RandomIds(static_cast<size_t>(seeds), kNodes, ++seed_);
    SampleNeighbors(graph_, ids, {fanout, false, ++seed_, 0, false});
  }
  void ReadRows(size_t count) { graph_.ndata("feat").Read(RandomIds(count, kNodes, ++seed_)); }
  void Push(size_t count) {
    if (changes_.num_rows() != static_cast<int64_t>(count)) {
      changes_ = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(count), kDim});
      std::ranges::fill(changes_.as<float>(), 0.01F);
    }
    sums_.Add(RandomIds(count, kRows, ++seed_), changes_);
  }

 private:
  static Options OptionsOf(const ServedGraph& served, const std::string& job, int rank,
                           int world_size) {
    Options options = served.ClientOptions(Transport::kUnix);
    options.job_id = job;
    options.rank = rank;
    options.world_size = world_size;
    return options;
  }
  static TensorSpec Sums() {
    TensorSpec spec;
    spec.name = "sums";
    spec.policy = TensorPolicy::kRange;
    spec.rows = kRows;
    spec.row_shape = {kDim};
    spec.writers = TensorWriters::kMany;
    return spec;
  }

  const DistGraph graph_;
  const DistTensor sums_;
  Tensor changes_;
  uint64_t seed_ = static_cast<uint64_t>(::getpid());
};

struct Times {
  double median, p90;  // milliseconds
};
Times MeasureSteps(Trainer& trainer, const std::function<void(Trainer&)>& step, double seconds) {
  std::vector<double> times;
  const auto start = Clock::now();
  while (SecondsSince(start) < seconds || times.size() < 20) {
    const auto begin = Clock::now();
    step(trainer);
    times.push_back(SecondsSince(begin) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 9 / 10]};
}

// Runs steps of eight greedy trainers until it is destroyed.
class GreedyJob {
 public:
  GreedyJob(const ServedGraph& served, const std::string& job,
            const std::function<void(Trainer&)>& step) {
    for (int rank = 0; rank < kGreedyConnections; rank++) {
      threads_.emplace_back([&, job, step, rank] {
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), greedy_priority);
        Trainer trainer(served, job, rank, kGreedyConnections);
        step(trainer);
        ready_++;
        while (!stop_) {
          step(trainer);
          steps_++;
        }
      });
    }
    while (ready_ < kGreedyConnections) ::usleep(10'000);
  }
  ~GreedyJob() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t steps() const { return steps_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> ready_{0};
  std::atomic<uint64_t> steps_{0};
  std::vector<std::thread> threads_;
};

void Compare(const ServedGraph& served, const char* name, double seconds,
             const std::function<void(Trainer&)>& step,
             const std::function<void(Trainer&)>& greedy_step) {
  Trainer victim(served, "victim", 0, 1);
  MeasureSteps(victim, step, seconds / 4);  // warms up
  const Times alone = MeasureSteps(victim, step, seconds);
  const GreedyJob greedy(served, "greedy", greedy_step);
  MeasureSteps(victim, step, seconds / 2);  // the greedy job's memory is made meanwhile
  const uint64_t before = greedy.steps();
  const Times beside = MeasureSteps(victim, step, seconds);
  std::printf(
      "%-24s p50 %7.2f -> %7.2f ms (%.2fx)   p90 %7.2f -> %7.2f ms (%.2fx)   greedy %.1f/s\n", name,
      alone.median, beside.median, beside.median / alone.median, alone.p90, beside.p90,
      beside.p90 / alone.p90, static_cast<double>(greedy.steps() - before) / seconds);
  std::fflush(stdout);
}

void Run(double seconds) {
  // The daemon inherits the priority.
  if (::setpriority(PRIO_PROCESS, 0, -10) == 0) greedy_priority = 0;
  const ServedGraph served(kNodes, kDegree, kColumns);
  const auto hop = [](Trainer& trainer) { trainer.SampleHop(10'000, 10); };
  const auto large_hop = [](Trainer& trainer) { trainer.SampleHop(200'000, 20); };
  const auto read = [](Trainer& trainer) { trainer.ReadRows(10'000); };
  const auto large_read = [](Trainer& trainer) { trainer.ReadRows(200'000); };
  const auto push = [](Trainer& trainer) { trainer.Push(5'000); };
  const auto large_push = [](Trainer& trainer) { trainer.Push(20'000); };
  const auto step = [&](Trainer& trainer) {
    hop(trainer);
    read(trainer);
    push(trainer);
  };
  const auto large_step = [&](Trainer& trainer) {
    large_hop(trainer);
    large_read(trainer);
    large_push(trainer);
  };
  Compare(served, "hop beside hops", seconds, hop, large_hop);
  Compare(served, "read beside reads", seconds, read, large_read);
  Compare(served, "push beside pushes", seconds, push, large_push);
  Compare(served, "step beside hops", seconds, step, large_hop);
  Compare(served, "step beside steps", seconds, step, large_step);
}

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) {
  graphd::bench::Run(argc > 1 ? std::atof(argv[1]) : 5);
  return 0;
}
