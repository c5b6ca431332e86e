// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "base/rng.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/await_child.h"
#include "tests/unit/store/crash_steps.h"

namespace graphd::store {
namespace {

using graphd::testing::MemoryDirectory;
using graphd::testing::ScratchDirectory;

template <class T>
std::vector<T> CrashRows(Store& store, const std::string& name) {
  const auto table = store.FindTable(name);
  std::vector<int64_t> rows(static_cast<size_t>(table->spec().rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::vector<T> values(rows.size() * table->spec().row_elements());
  table->Read(rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// Starts the process. Returns its id and the end of the pipe that reports its steps.
std::pair<pid_t, int> StartChild(const StoreOptions& options, const std::vector<uint64_t>& next,
                                 uint64_t steps) {
  std::vector<std::string> words = {CRASH_CHILD, options.directory,
                                    std::to_string(options.memory_bytes), options.memory_dir,
                                    std::to_string(steps)};
  for (const uint64_t step : next) words.push_back(std::to_string(step));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int pipe[2];
  if (::pipe(pipe) != 0) return {-1, -1};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::execv(CRASH_CHILD, arguments.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  return {child, pipe[0]};
}

// Kills the process with kill -9 at random points, also during write-back and recovery, and
// compares the store with a reference. Some clean ends leave the memory to the next process.
void CrashAndCompare(uint64_t memory_bytes, const std::string& memory_dir = "") {
  const char* wanted = std::getenv("GRAPHD_CRASHES");
  const int crashes = wanted != nullptr ? std::atoi(wanted) : 40;
  const ScratchDirectory scratch, reference_scratch;
  StoreOptions options = CrashOptions(scratch / "store", memory_bytes, memory_dir);
  bool follows = false;
  options.next_process_follows = [&follows] { return follows; };
  Store reference(CrashOptions(reference_scratch / "store", 0));
  OpenCrashTables(reference);
  std::vector<uint64_t> next(kCrashClients, 1), in_reference(kCrashClients, 0);
  CounterRng rng(static_cast<uint64_t>(::getpid()));
  uint64_t steps = 0;
  for (int crash = 0; crash < crashes; crash++) {
    // Some crashes happen while it opens the store, some while it closes it, most while it works.
    Acknowledged done{};
    const bool works = crash % 4 != 0, closes = crash % 4 == 1;
    const auto [child, pipe] = StartChild(options, next, closes ? 3 : 0);
    ASSERT_GT(child, 0);
    if (works) {
      ASSERT_TRUE(testing::ReadRecord(pipe, &done, sizeof done));
      ASSERT_EQ(done.step, next[done.client]++);
    }
    for (uint64_t step = 1; closes && step < 3 * kCrashClients; step++) {
      ASSERT_TRUE(testing::ReadRecord(pipe, &done, sizeof done));
      ASSERT_EQ(done.step, next[done.client]++);
    }
    ::usleep(static_cast<useconds_t>(rng.Below(closes ? 30000 : works ? 200000 : 60000)));
    ::kill(child, SIGKILL);
    while (::read(pipe, &done, sizeof done) == sizeof done) {
      ASSERT_EQ(done.step, next[done.client]++);
      steps++;
    }
    ::close(pipe);
    const int status = testing::AwaitChild(child);
    ASSERT_TRUE(WIFSIGNALED(status) || (closes && status == 0)) << "it ended by itself: " << status;
    if (crash % 5 != 4 && crash + 1 != crashes) continue;  // several crashes before the next check

    follows = crash + 1 != crashes && rng.Below(2) == 0;
    Store store(options);
    ASSERT_TRUE(store.damage().empty()) << store.damage()[0];
    ASSERT_EQ(store.status().memory.empty(), memory_dir.empty());
    OpenCrashTables(store);
    // Sending pushes again that were not acknowledged brings both stores to the same point.
    for (uint64_t client = 0; client < kCrashClients; client++) {
      CrashStep(store, client, next[client]++);
      while (in_reference[client] + 1 < next[client]) {
        CrashStep(reference, client, ++in_reference[client]);
      }
    }
    ASSERT_EQ(CrashRows<int64_t>(store, "counts"), CrashRows<int64_t>(reference, "counts"));
    ASSERT_EQ(CrashRows<float>(store, "rows"), CrashRows<float>(reference, "rows"));
  }
  EXPECT_GT(steps, static_cast<uint64_t>(crashes));
  std::cout << crashes << " crashes, " << steps << " steps acknowledged\n";
}

TEST(Crash, EveryAcknowledgedPushSurvivesExactlyOnce) { CrashAndCompare(0); }

TEST(Crash, WithAPersistentArena) {
  const MemoryDirectory memory;
  CrashAndCompare(0, memory.path());
  EXPECT_TRUE(std::filesystem::is_empty(memory.path()));
}

TEST(Crash, WithAMemoryBudgetSmallerThanTheTables) { CrashAndCompare(kCrashMemory); }

}  // namespace
}  // namespace graphd::store
