// SPDX-License-Identifier: Apache-2.0
// Measures how much a greedy job slows the steps of another job of the same daemon: the median and
// the 90th percentile of the other job's steps, alone and beside a job with eight or 64
// connections that asks for as much as it can, or beside 1,000 connections of a user without
// rights, who asks for the status without a pause. Both jobs use RPC over the Unix socket. The
// clients of the greedy job use only the time of the processors that nobody else needs
// (SCHED_IDLE), so that the result shows how the daemon shares its time, not how the kernel does.
// `greedy` is how many steps the greedy job makes in a second; without rights, bytes of answers.
//
// usage: fair_shares [--apart] [SECONDS [NAME]]
//   --apart  the daemon has one half of the processors, and the clients have the other half, as if
//            they ran on other machines
//   NAME     makes only this comparison
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "bench/support/bench_graph.h"
#include "bench/support/strangers.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sampling.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 300'000, kDegree = 20, kColumns = 100;
constexpr int64_t kRows = 400'000, kDim = 128;

// A trainer of a job, and what it does in a step.
class Trainer {
 public:
  Trainer(const ServedGraph& served, const std::string& job, int rank, int world_size)
      : graph_(Initialize(OptionsOf(served, job, rank, world_size))),
        sums_(DistTensor::Create(graph_, SumsSpec(kRows, kDim))) {}

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

// The shared memory of the two processes.
struct Signals {
  std::atomic<int> wanted{0};  // the number of the greedy job that is to run; 0: none; -1: end
  std::atomic<int> ready{0};   // its trainers that have made a step
  std::atomic<uint64_t> steps{0};
};

struct Comparison {
  const char* name;
  std::function<void(Trainer&)> step, greedy_step;
  int greedy_connections = 8;
  size_t strangers = 0;  // connections without rights, in the place of the greedy job
};

// The threads that the connections without rights are divided among.
constexpr size_t kStrangersThreads = 4;

// Waits until as many trainers of the greedy job run. Ends the program if its process has ended.
void AwaitTrainers(const Signals& signals, int count) {
  while (signals.ready != count) {
    ::usleep(10'000);
    if (::waitpid(-1, nullptr, WNOHANG) <= 0) continue;
    std::fprintf(stderr, "fair_shares: the process of the greedy job, or the daemon, has ended\n");
    std::exit(1);
  }
}

// Runs greedy jobs in a process of their own, since all connections of a process share a thread.
void RunGreedyJobs(const ServedGraph& served, const std::vector<Comparison>& comparisons,
                   Signals& signals) {
  for (int wanted = 0; wanted >= 0; wanted = signals.wanted) {
    std::vector<std::thread> trainers;
    const Comparison* comparison =
        wanted > 0 ? &comparisons[static_cast<size_t>(wanted - 1)] : nullptr;
    const bool are_strangers = comparison != nullptr && comparison->strangers > 0;
    const int connections =
        comparison == nullptr || are_strangers ? 0 : comparison->greedy_connections;
    for (size_t i = 0; are_strangers && i < kStrangersThreads; i++) {
      trainers.emplace_back([&, wanted] {
        Strangers strangers(served.port(), comparison->strangers / kStrangersThreads);
        strangers.Send();
        signals.ready++;
        while (signals.wanted == wanted) {
          signals.steps += strangers.Send();
          ::usleep(1000);
        }
      });
    }
    for (int rank = 0; rank < connections; rank++) {
      trainers.emplace_back([&, wanted, connections, rank] {
        const auto& step = comparison->greedy_step;
        Trainer trainer(served, StrCat("greedy", wanted), rank, connections);
        step(trainer);
        signals.ready++;
        while (signals.wanted == wanted) {
          step(trainer);
          signals.steps++;
        }
      });
    }
    for (std::thread& each : trainers) each.join();
    signals.ready = 0;
    while (signals.wanted == 0) ::usleep(10'000);
  }
}

void Compare(const ServedGraph& served, const Comparison& comparison, int number, double seconds,
             Signals& signals) {
  Trainer victim(served, StrCat("victim", number), 0, 1);
  MeasureSteps(victim, comparison.step, seconds / 4);  // warms up
  const Times alone = MeasureSteps(victim, comparison.step, seconds);
  signals.wanted = number;
  AwaitTrainers(signals, comparison.strangers > 0 ? static_cast<int>(kStrangersThreads)
                                                  : comparison.greedy_connections);
  MeasureSteps(victim, comparison.step, seconds / 2);  // the greedy job's memory is made meanwhile
  const uint64_t before = signals.steps;
  const Times beside = MeasureSteps(victim, comparison.step, seconds);
  const uint64_t steps = signals.steps - before;
  signals.wanted = 0;
  AwaitTrainers(signals, 0);
  std::printf(
      "%-24s p50 %7.2f -> %7.2f ms (%.2fx)   p90 %7.2f -> %7.2f ms (%.2fx)   greedy %.1f/s\n",
      comparison.name, alone.median, beside.median, beside.median / alone.median, alone.p90,
      beside.p90, beside.p90 / alone.p90, static_cast<double>(steps) / seconds);
  std::fflush(stdout);
}

// Lets this process and its future children use only these processors.
void UseProcessors(unsigned begin, unsigned end) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (unsigned i = begin; i < end; i++) CPU_SET(i, &set);
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return;
  std::fprintf(stderr, "fair_shares: can't use processors %u to %u only\n", begin, end - 1);
  std::exit(1);
}

void Run(bool apart, double seconds, const std::string& only) {
  const unsigned processors = std::thread::hardware_concurrency();
  if (apart && processors < 2) {
    std::fprintf(stderr, "fair_shares: --apart needs two processors\n");
    std::exit(1);
  }
  // The daemon inherits the processors.
  if (apart) UseProcessors(0, processors / 2);
  const ServedGraph served(kNodes, kDegree, kColumns);
  if (apart) UseProcessors(processors / 2, processors);
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
  const std::vector<Comparison> comparisons = {{"hop beside hops", hop, large_hop},
                                               {"read beside reads", read, large_read},
                                               {"read beside reads of 64", read, large_read, 64},
                                               {"push beside pushes", push, large_push},
                                               {"push beside pushes of 64", push, push, 64},
                                               {"step beside hops", step, large_hop},
                                               {"step beside steps", step, large_step},
                                               {"step beside strangers", step, {}, 0, 1000}};
  void* shared =
      ::mmap(nullptr, sizeof(Signals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  Signals& signals = *new (shared) Signals;
  const pid_t greedy = ::fork();  // before there are threads
  if (greedy < 0) std::abort();
  if (greedy == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE, &none);
    RunGreedyJobs(served, comparisons, signals);
    ::_exit(0);
  }
  for (size_t i = 0; i < comparisons.size(); i++) {
    if (!only.empty() && only != comparisons[i].name) continue;
    Compare(served, comparisons[i], static_cast<int>(i + 1), seconds, signals);
  }
  signals.wanted = -1;
  ::waitpid(greedy, nullptr, 0);
}

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) {
  const bool apart = argc > 1 && std::string_view(argv[1]) == "--apart";
  if (apart) argc--, argv++;
  graphd::bench::Run(apart, argc > 1 ? std::atof(argv[1]) : 5, argc > 2 ? argv[2] : "");
  return 0;
}
