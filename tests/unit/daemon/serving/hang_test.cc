// SPDX-License-Identifier: Apache-2.0
// Stops a single thread of a real daemon, as a fault would, and looks at what the service manager
// and the log are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/service_messages.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kTensorRows = 20'000, kTensorColumns = 64;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Waits for a condition for at most 30 seconds, and returns whether it has become true.
template <class Condition>
bool Await(const Condition& condition) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// Returns the addresses, from the first to one after the last, of a process's own code.
std::pair<uint64_t, uint64_t> OwnCode(pid_t process) {
  const std::string program = std::filesystem::read_symlink(StrCat("/proc/", process, "/exe"));
  std::ifstream maps(StrCat("/proc/", process, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(program) || line.find(" r-xp ") == std::string::npos) continue;
    std::istringstream range(line);
    uint64_t begin = 0, end = 0;
    char dash = 0;
    range >> std::hex >> begin >> dash >> end;
    return {begin, end};
  }
  return {0, 0};
}

// Stops one thread of another process, which does nothing while this exists, by ptrace(2). Used by
// one thread.
class StoppedThread {
 public:
  // Stops the thread with this name while it executes graphd's own code. In a library's it might
  // hold the lock of a heap, for which every other thread would wait.
  StoppedThread(pid_t process, const std::string& name) {
    const std::string tasks = StrCat("/proc/", process, "/task");
    // A thread has its name only after it has begun to run.
    EXPECT_TRUE(Await([&] {
      for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        if (FirstLine(task.path() / "comm") == name) id_ = std::stoi(task.path().filename());
      }
      return id_ != 0;
    })) << "no thread has the name "
        << name;
    const auto [begin, end] = OwnCode(process);
    EXPECT_LT(begin, end);
    const std::string state = StrCat(tasks, "/", id_, "/syscall");
    EXPECT_TRUE(Await([&, begin = begin, end = end] {
      if (::ptrace(PTRACE_SEIZE, id_, nullptr, nullptr) != 0) return false;
      EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr), 0);
      EXPECT_EQ(::waitpid(id_, nullptr, __WALL), id_);
      // The line ends with the address of the next instruction.
      const std::string line = FirstLine(state);
      const uint64_t at = std::strtoull(line.c_str() + line.rfind(' ') + 1, nullptr, 16);
      if (at >= begin && at < end) return true;
      GoOn();
      return false;
    }));
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;
  void GoOn() { ::ptrace(PTRACE_DETACH, id_, nullptr, nullptr); }
  // Waits for the end of the thread with its process.
  void AwaitEnd() { EXPECT_EQ(::waitpid(id_, nullptr, __WALL), id_); }

 private:
  pid_t id_ = 0;
};

// A daemon that notifies a service manager's watchdog, and whose threads hang after a second.
class WatchedDaemon {
 public:
  explicit WatchedDaemon(const RawGraph& graph) : messages_(scratch_ / "notify") {
    ::setenv("WATCHDOG_USEC", "200000", 1);
    // The daemon gets a single thread for connections, so that the test knows which one to stop.
    served_.emplace(graph, std::vector<std::vector<int>>{{0}}, 1,
                    std::vector<std::string>{"--hang_timeout", "1", "--data_threads", "1"});
    ::unsetenv("WATCHDOG_USEC");
    EXPECT_TRUE(Await([&] { return Notified() > 2; }));
  }
  ServedGraphFixture& served() { return *served_; }

  // Stops the thread while `work` uses it again and again, and checks what the log and the service
  // manager are told.
  void StopThread(const std::string& name, const std::function<void()>& work) {
    std::atomic<bool> ended{false};
    std::thread worker([&] {
      while (!ended) work();
    });
    StoppedThread thread(served_->daemon(0).pid(), name);
    EXPECT_TRUE(Logged(StrCat("thread '", name, "' has hung for "))) << Log();
    std::this_thread::sleep_for(std::chrono::seconds(1));  // earlier messages have arrived then
    EXPECT_FALSE(NotifiedMore());
    const std::string goes_on = StrCat("thread '", name, "' goes on");
    EXPECT_THAT(Log(), Not(HasSubstr(goes_on)));
    thread.GoOn();
    EXPECT_TRUE(Logged(goes_on)) << Log();
    const auto before = Notified();
    EXPECT_TRUE(Await([&] { return Notified() > before; }));
    ended = true;
    worker.join();
  }

 private:
  std::string Log() { return served_->daemon(0).Log(); }
  bool Logged(const std::string& text) {
    return Await([&] { return Log().find(text) != std::string::npos; });
  }
  ptrdiff_t Notified() const {
    const std::vector<std::string> lines = messages_.lines();
    return std::count(lines.begin(), lines.end(), "WATCHDOG=1");
  }
  bool NotifiedMore() const {
    const auto before = Notified();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return Notified() > before;
  }

  ScratchDirectory scratch_;
  const ServiceMessages messages_;
  std::optional<ServedGraphFixture> served_;
};

TEST(Hang, TheWatchdogIsNotNotifiedWhileAThreadOfTheStoreHangs) {
  WatchedDaemon daemon(HomogeneousGraph(kTensorRows, {{0, 1}}));
  const DistGraph trainer = DistGraph(Initialize(daemon.served().TrainerOptions(Transport::kTcp)));
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kTensorColumns};
  const DistTensor tensor = DistTensor::Create(trainer, spec);
  std::vector<int64_t> ids(kTensorRows);
  std::iota(ids.begin(), ids.end(), 0);
  float value = 0;
  daemon.StopThread("pushes 0", [&] {
    Tensor rows = Tensor::Empty(DType::kFloat32, {kTensorRows, kTensorColumns});
    std::ranges::fill(rows.as<float>(), ++value);
    tensor.Write(ids, rows);
  });
  const Tensor rows = tensor.Read(ids);
  EXPECT_TRUE(std::ranges::all_of(rows.as<float>(), [&](float each) { return each == value; }));
}

TEST(Hang, TheWatchdogIsNotNotifiedWhileAThreadThatComputesOrServesConnectionsHangs) {
  WatchedDaemon daemon(
      HomogeneousGraph(kTensorRows, RandomMultigraph(kTensorRows, 20 * kTensorRows, 1)));
  const DistGraph trainer = DistGraph(Initialize(daemon.served().TrainerOptions(Transport::kTcp)));
  std::vector<int64_t> seeds(kTensorRows);
  std::iota(seeds.begin(), seeds.end(), 0);
  size_t edges = 0;
  const auto sample = [&] {
    edges += SampleNeighbors(trainer, seeds, {.fanout = -1}).neighbors.size();
  };
  daemon.StopThread("compute 0", sample);
  daemon.StopThread("data 0", sample);
  EXPECT_GT(edges, 0);
}

TEST(Hang, AStopGivesRequestsUpThatDoNotEnd) {
  ServedGraphFixture served(
      HomogeneousGraph(kTensorRows, RandomMultigraph(kTensorRows, 20 * kTensorRows, 1)), {{0}}, 1,
      {"--num_servers", "1"});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(2);
  std::vector<int64_t> seeds(kTensorRows);
  std::iota(seeds.begin(), seeds.end(), 0);
  std::thread trainer([&] {
    try {
      const DistGraph graph = DistGraph(Initialize(options));
      for (;;) SampleNeighbors(graph, seeds, {.fanout = -1});
    } catch (const Error&) {  // the daemon has ended
    }
  });
  StoppedThread thread(served.daemon(0).pid(), "compute 0");
  const Clock::time_point begin = Clock::now();
  served.daemon(0).Signal(SIGTERM);
  thread.AwaitEnd();
  EXPECT_EQ(served.daemon(0).Wait(), 0) << served.daemon(0).Log();
  EXPECT_GE(SecondsSince(begin), 5);
  EXPECT_THAT(served.daemon(0).Log(), HasSubstr("requests are given up that have not ended"));
  trainer.join();
}

}  // namespace
}  // namespace graphd::testing
