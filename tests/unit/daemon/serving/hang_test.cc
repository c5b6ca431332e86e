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
#include <numeric>
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
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      if (FirstLine(task.path() / "comm") == name) id_ = std::stoi(task.path().filename());
    }
    EXPECT_NE(id_, 0) << "no thread has the name " << name;
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

TEST(Hang, TheWatchdogIsNotNotifiedWhileAThreadOfTheStoreHangs) {
  ScratchDirectory scratch;
  const ServiceMessages messages(scratch / "notify");
  ::setenv("WATCHDOG_USEC", "200000", 1);
  ServedGraphFixture served(HomogeneousGraph(kTensorRows, {{0, 1}}), {{0}}, 1,
                            {"--hang_timeout", "1"});
  ::unsetenv("WATCHDOG_USEC");
  const auto notified = [&] {
    const std::vector<std::string> lines = messages.lines();
    return std::count(lines.begin(), lines.end(), "WATCHDOG=1");
  };
  const auto notified_more = [&](std::chrono::seconds time) {
    const auto before = notified();
    std::this_thread::sleep_for(time);
    return notified() > before;
  };
  EXPECT_TRUE(Await([&] { return notified() > 2; }));

  const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kTcp)));
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kTensorColumns};
  const DistTensor tensor = DistTensor::Create(trainer, spec);
  std::vector<int64_t> ids(kTensorRows);
  std::iota(ids.begin(), ids.end(), 0);
  float value = 0;
  const auto write = [&] {
    Tensor rows = Tensor::Empty(DType::kFloat32, {kTensorRows, kTensorColumns});
    std::ranges::fill(rows.as<float>(), ++value);
    tensor.Write(ids, rows);
  };
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    while (!ended) write();
  });

  const auto log = [&] { return served.daemon(0).Log(); };
  const auto logged = [&](const std::string& text) {
    return Await([&] { return log().find(text) != std::string::npos; });
  };
  StoppedThread thread(served.daemon(0).pid(), "pushes 0");
  EXPECT_TRUE(logged("thread 'pushes 0' has hung for ")) << log();
  EXPECT_FALSE(notified_more(std::chrono::seconds(2)));
  const std::string goes_on = "thread 'pushes 0' goes on";
  EXPECT_THAT(log(), Not(HasSubstr(goes_on)));
  thread.GoOn();
  EXPECT_TRUE(logged(goes_on)) << log();
  EXPECT_TRUE(notified_more(std::chrono::seconds(2)));

  ended = true;
  writer.join();
  const Tensor rows = tensor.Read(ids);
  EXPECT_TRUE(std::ranges::all_of(rows.as<float>(), [&](float each) { return each == value; }));
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
