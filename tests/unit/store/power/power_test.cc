// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "store/checkpoint/set.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/child_environment.h"
#include "tests/unit/store/power/power_disk.h"
#include "tests/unit/store/power/power_marks.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;

template <class T>
std::vector<T> RowsOf(Store& store, const std::string& name) {
  const auto table = store.FindTable(name);
  std::vector<int64_t> rows(static_cast<size_t>(table->spec().rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::vector<T> values(rows.size() * table->spec().row_elements());
  table->Read(rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// The marks that the process had made when the power was cut.
struct Reported {
  std::vector<uint64_t> steps = std::vector<uint64_t>(kCrashClients, 0);  // by client
  std::map<uint64_t, bool> checkpoints;  // false: may have been deleted
  uint64_t last_checkpoint = 0;

  void Add(const PowerOp& op) {
    if (op.kind != PowerOpKind::kMark) return;
    if (op.file < kCrashClients) {
      steps[op.file] = op.offset;
    } else {
      checkpoints[op.offset] = op.file == kCheckpointMade;
      last_checkpoint = std::max(last_checkpoint, op.offset);
    }
  }
};

// Runs the process on `directory` for a while, and kills it.
bool RunChild(const std::string& directory, const std::string& journal, const Reported& reported,
              unsigned microseconds) {
  std::vector<std::string> words = {POWER_CHILD, directory,
                                    std::to_string(reported.last_checkpoint + 1000)};
  for (const uint64_t step : reported.steps) words.push_back(std::to_string(step + 1));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  testing::ChildEnvironment environment;
  environment.Set("POWER_ROOT", directory);
  environment.Set("POWER_JOURNAL", journal);
  char** variables = environment.data();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execve(POWER_CHILD, arguments.data(), variables);
    ::_exit(127);
  }
  ::usleep(microseconds);
  ::kill(child, SIGKILL);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

// A store that has each acknowledged push once, to compare with.
class Reference {
 public:
  Reference() : store_(Options(scratch_ / "store")) { OpenCrashTables(store_); }
  Store& At(const std::vector<uint64_t>& steps) {
    for (uint64_t client = 0; client < kCrashClients; client++) {
      while (done_[client] < steps[client]) CrashStep(store_, client, ++done_[client]);
    }
    return store_;
  }

 private:
  static StoreOptions Options(const std::string& directory) {
    StoreOptions options;
    options.directory = directory;
    options.durability = Durability::kNone;
    return options;
  }

  const ScratchDirectory scratch_;
  Store store_;
  std::vector<uint64_t> done_ = std::vector<uint64_t>(kCrashClients, 0);
};

// Returns the difference between `directory` and its expected contents, or nothing.
std::optional<std::string> WrongWith(const std::string& directory, const Reported& reported,
                                     Reference& reference) {
  try {
    Store store(PowerOptions(directory + "/store"));
    if (!store.damage().empty()) return store.damage()[0];
    OpenCrashTables(store);
    // Sending pushes again that were not acknowledged brings both stores to the same point.
    std::vector<uint64_t> steps = reported.steps;
    for (uint64_t client = 0; client < kCrashClients; client++) {
      CrashStep(store, client, ++steps[client]);
    }
    Store& wanted = reference.At(steps);
    if (RowsOf<int64_t>(store, "counts") != RowsOf<int64_t>(wanted, "counts")) {
      return "pushes are lost, or applied twice";
    }
    if (RowsOf<float>(store, "rows") != RowsOf<float>(wanted, "rows")) return "rows differ";

    CheckpointSet set(directory + "/checkpoints");
    std::map<std::string, bool> there;
    for (const std::string& name : set.Names()) {
      const CheckpointSet::Entry entry = set.Describe(name).value();
      if (!entry.trouble.empty() || entry.manifest != "{}" || entry.tables.size() != 2) {
        return StrCat("checkpoint ", entry.name, " is not whole: ", entry.trouble);
      }
      const auto reader = set.Open(entry.name);
      for (const TableSpec& spec : entry.tables) {
        std::vector<std::byte> rows(static_cast<size_t>(spec.rows) * spec.row_bytes());
        reader->ReadRows(spec.name, 0, spec.rows, rows, {});
      }
      if (set.ReadFile(entry.name, "weights", 0, 100).size() != sizeof(uint64_t)) {
        return StrCat("checkpoint ", entry.name, " has lost its file");
      }
      there[entry.name] = true;
    }
    for (const auto& [number, made] : reported.checkpoints) {
      if (made && !there.contains(CheckpointName(number))) {
        return StrCat("checkpoint ", number, " is lost");
      }
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// Returns random points in the journal; half of them are at changes of names or at syncs.
std::vector<size_t> CutPoints(const std::vector<PowerRecord>& records, size_t count,
                              CounterRng& rng) {
  std::vector<size_t> events;
  for (size_t i = 0; i < records.size(); i++) {
    const PowerOpKind kind = records[i].op.kind;
    if (kind != PowerOpKind::kWrite && kind != PowerOpKind::kMark) events.push_back(i);
  }
  std::vector<size_t> points;
  for (size_t i = 0; i < count; i++) {
    size_t at = rng.Below(records.size() + 1);
    if (i % 2 == 0 && !events.empty()) {
      at = std::min(events[rng.Below(events.size())] + rng.Below(4), records.size());
    }
    points.push_back(at);
  }
  std::sort(points.begin(), points.end());
  return points;
}

// Cuts the power at random points of a process's work, including its recovery from the last cut.
// `syncs`: whether its syncs are done.
std::optional<std::string> CutOften(int runs, size_t cuts_per_run, bool syncs, uint64_t seed) {
  CounterRng rng(seed);
  ::setenv("TMPDIR", "/dev/shm", 1);  // the disk is simulated, so a real one is not needed
  const ScratchDirectory scratch;
  Reference reference;
  Reported reported;
  std::string state = scratch / "state0";
  fs::create_directories(state);
  uint64_t cuts = 0, records_seen = 0;
  const auto acknowledged = [&] {
    return std::accumulate(reported.steps.begin(), reported.steps.end(), uint64_t{0});
  };
  // A slow machine may need longer for the first steps than these runs last.
  for (int run = 1; run <= runs || (run <= 10 * runs && acknowledged() == 0); run++) {
    const PowerDisk safe(state);
    const std::string journal = scratch / ("journal" + std::to_string(run));
    if (!RunChild(state, journal, reported, 40000 + static_cast<unsigned>(rng.Below(400000)))) {
      return "the process ended by itself";
    }
    if (!FileExists(journal)) continue;
    const MappedFile bytes(journal);
    const std::vector<PowerRecord> records = ReadJournal(bytes.bytes());
    records_seen += records.size();
    PowerDisk disk = safe;
    size_t at = 0;
    std::string cut;
    for (const size_t point : CutPoints(records, cuts_per_run, rng)) {
      for (; at < point; at++) {
        if (syncs || records[at].op.kind != PowerOpKind::kSync) disk.Do(records[at]);
        reported.Add(records[at].op);
      }
      if (!cut.empty()) fs::remove_all(cut);
      cut = scratch / StrCat("cut", run, "-", cuts++);
      disk.Cut(rng, cut);
      const std::string copy = scratch / "checked";
      fs::copy(cut, copy, fs::copy_options::recursive);
      const auto wrong = WrongWith(copy, reported, reference);
      fs::remove_all(copy);
      if (wrong) {
        return StrCat("seed ", seed, ", run ", run, ", cut after operation ", point, " of ",
                      records.size(), ": ", *wrong);
      }
    }
    fs::remove_all(state);
    fs::remove(journal);
    state = cut;  // the next process recovers from it
    std::erase_if(reported.checkpoints, [](const auto& each) { return !each.second; });
  }
  std::cout << cuts << " cuts in " << records_seen << " operations, " << acknowledged()
            << " steps acknowledged\n";
  EXPECT_GT(acknowledged(), 0U);
  return {};
}

uint64_t Seed() {
  const char* wanted = std::getenv("GRAPHD_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : static_cast<uint64_t>(::getpid());
}

TEST(PowerLoss, EveryAcknowledgedPushAndCheckpointSurvives) {
  const char* wanted = std::getenv("GRAPHD_POWER_LOSSES");
  const int runs = wanted != nullptr ? std::atoi(wanted) / 10 : 12;
  const auto wrong = CutOften(runs, 10, true, Seed());
  EXPECT_FALSE(wrong) << *wrong;
}

// Shows that the test above can fail. Ends with the first loss.
TEST(PowerLoss, WithoutSyncsPushesAreLost) {
  EXPECT_TRUE(CutOften(40, 5, false, Seed())) << "nothing was lost";
}

}  // namespace
}  // namespace graphd::store
