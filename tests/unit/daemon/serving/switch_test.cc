// SPDX-License-Identifier: Apache-2.0
// Tests of a real daemon that is switched to another version of its graph while jobs use it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "ctl/plan/host_order.h"
#include "graphd/checkpoint.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/error_of.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kLimit{20000};
constexpr int64_t kOldNodes = 1000, kNewNodes = 1500;

RawGraph OldGraph() { return HomogeneousGraph(kOldNodes, RandomMultigraph(kOldNodes, 5000, 1)); }
RawGraph NewGraph() { return HomogeneousGraph(kNewNodes, RandomMultigraph(kNewNodes, 9000, 2)); }

class Switch : public ::testing::Test {
 protected:
  Options TrainerOf(const std::string& job, int rank = 0, int world_size = 1) const {
    Options options = served_.TrainerOptions(Transport::kTcp, rank, world_size);
    options.job_id = job;
    options.job_secret = "secret of " + job;
    return options;
  }
  std::unique_ptr<ControlClient> Connect() const {
    return ControlClient::ConnectUnix(served_.socket_path(0), kLimit);
  }
  ServerStatus Status() const { return Connect()->Status(); }
  template <class Condition>
  void WaitUntil(const char* what, Condition&& condition) const {
    const auto start = Clock::now();
    while (!condition()) {
      ASSERT_LT(SecondsSince(start), 60) << what;
      ::usleep(5000);
    }
  }
  // Prepares a switch and waits until it is ready.
  void Prepare(ControlClient& client, const std::string& part_config, const std::string& id) const {
    client.PrepareSwitch(part_config, id, "alice@host-1");
    WaitUntil("the other graph", [&] { return client.ProgressOfSwitch().ready; });
  }
  Switched SwitchTo(const std::string& part_config, const std::string& id) const {
    const auto client = Connect();
    Prepare(*client, part_config, id);
    return client->CommitSwitch();
  }
  // Returns the number of sealed memory files that the daemon has open.
  size_t MemoryFiles() {
    size_t count = 0;
    const std::string fds = StrCat("/proc/", served_.daemon(0).pid(), "/fd");
    for (const auto& entry : std::filesystem::directory_iterator(fds)) {
      std::error_code ignored;
      const auto target = std::filesystem::read_symlink(entry.path(), ignored);
      count += target.string().rfind("/memfd:", 0) == 0 ? 1 : 0;
    }
    return count;
  }
  static std::vector<int64_t> DegreesOf(const DistGraph& graph) {
    std::vector<int64_t> nodes(static_cast<size_t>(graph.num_nodes()));
    std::iota(nodes.begin(), nodes.end(), 0);
    return graph.InDegrees(nodes);
  }
  static TensorSpec Spec(const std::string& name) {
    TensorSpec spec;
    spec.name = name;
    spec.row_shape = {4};
    spec.persistent = true;
    return spec;
  }

  ServedGraphFixture served_{OldGraph(), std::vector<std::vector<int>>{{0}}, 1};
  ServedGraphFixture next_{NewGraph(), std::vector<std::vector<int>>{}, 1};
};

TEST_F(Switch, ARunningJobKeepsItsGraphAndANewOneGetsTheOther) {
  const size_t memory_files = MemoryFiles();
  std::optional<DistGraph> old(Initialize(TrainerOf("old", 0, 2)));
  const std::vector<int64_t> before = DegreesOf(*old);
  ASSERT_EQ(before.size(), static_cast<size_t>(kOldNodes));
  {
    const auto client = Connect();
    Prepare(*client, next_.part_config(), "v2");
    EXPECT_EQ(DegreesOf(*old), before);
    EXPECT_EQ(DistGraph(Initialize(TrainerOf("early"))).num_nodes(), kOldNodes);
    const Switched switched = client->CommitSwitch();
    EXPECT_EQ(switched.part_config, next_.part_config());
    EXPECT_GE(switched.jobs, 1U);
  }
  EXPECT_EQ(DegreesOf(*old), before);
  // A trainer that joins later gets the version of its job.
  std::optional<DistGraph> second(Initialize(TrainerOf("old", 1, 2)));
  EXPECT_EQ(DegreesOf(*second), before);
  const DistGraph fresh = DistGraph(Initialize(TrainerOf("new")));
  ASSERT_EQ(fresh.num_nodes(), kNewNodes);
  {
    ServedGraphFixture alone{NewGraph(), std::vector<std::vector<int>>{{0}}, 1};
    EXPECT_EQ(DegreesOf(fresh),
              DegreesOf(DistGraph(Initialize(alone.TrainerOptions(Transport::kTcp)))));
  }
  ServerStatus status = Status();
  ASSERT_EQ(status.graphs.size(), 2U);
  EXPECT_EQ(status.part_config, next_.part_config());
  EXPECT_EQ(status.partitions.at(0).num_nodes, kNewNodes);
  EXPECT_EQ(status.graphs[0].id, "v2");
  EXPECT_EQ(status.graphs[1].part_config, served_.part_config());
  EXPECT_NE(status.graphs[0].fingerprint, status.graphs[1].fingerprint);
  for (const JobStatus& job : status.jobs) {
    if (job.job_id == "early") continue;
    EXPECT_EQ(job.fingerprint, status.graphs[job.job_id == "new" ? 0 : 1].fingerprint);
  }
  EXPECT_EQ(Connect()->Memory(100).graph_bytes, status.graphs[0].bytes + status.graphs[1].bytes);
  EXPECT_GT(MemoryFiles(), memory_files);

  old.reset();
  second.reset();
  // They could come back for two minutes.
  EXPECT_EQ(Status().graphs.size(), 2U);
  WaitUntil("the old jobs' end", [&] { return Status().jobs.size() == 1; });
  for (const char* job : {"old", "early"}) Connect()->EndJob(job, "alice@host-1", "");
  WaitUntil("the memory of the old graph", [&] { return Status().graphs.size() == 1; });
  WaitUntil("the files of the old graph", [&] { return MemoryFiles() <= memory_files; });
  status = Status();
  EXPECT_EQ(Connect()->Memory(100).graph_bytes, status.partitions.at(0).bytes);
  EXPECT_EQ(fresh.num_nodes(), kNewNodes);
}

TEST_F(Switch, APreparerThatGoesGivesTheMemoryBack) {
  const size_t memory_files = MemoryFiles();
  {
    const auto client = Connect();
    Prepare(*client, next_.part_config(), "v2");
    EXPECT_GT(MemoryFiles(), memory_files);
    std::thread other([&] {
      const auto second = Connect();
      EXPECT_THAT(ErrorOf([&] { second->PrepareSwitch(next_.part_config(), "v3", "bob"); }),
                  AllOf(StartsWith("exists: "), HasSubstr("alice@host-1")));
    });
    other.join();
  }
  WaitUntil("the memory", [&] { return MemoryFiles() == memory_files; });
  EXPECT_EQ(Status().graphs.size(), 1U);
  EXPECT_EQ(DistGraph(Initialize(TrainerOf("new"))).num_nodes(), kOldNodes);
  // Another switch is possible then.
  EXPECT_EQ(SwitchTo(next_.part_config(), "v2").jobs, 0U);
}

// The other daemons may have failed before this host's graphctl has read its order.
TEST_F(Switch, AnAbortThatComesWithTheOrderEndsTheSwitch) {
  ctl::HostOrder order;
  order.action = ctl::HostAction::kControl;
  order.version = GRAPHD_VERSION;
  order.server.server_name = served_.TrainerOptions(Transport::kUnix).server_name;
  order.server.port =
      static_cast<uint16_t>(std::stoi(std::filesystem::path(served_.socket_path(0)).stem()));
  order.server.runtime_dir = served_.runtime_dir();
  order.control.verb = ctl::ControlVerb::kSwitch;
  order.control.part_config = next_.part_config();
  order.control.version = "v2";
  const ScratchDirectory scratch;
  const std::string input = scratch / "input", output = scratch / "output";
  ASSERT_EQ(::mkfifo(input.c_str(), 0600), 0);
  const UniqueFd writer(::open(input.c_str(), O_RDWR));  // the input does not end
  const std::string text = StrCat(ctl::EncodeOrder(order), "\n", ctl::kAbortLine, "\n");
  WriteExactly(writer.get(), std::as_bytes(std::span(text)), input);
  const int status = std::system(
      StrCat("timeout 30 " GRAPHD_BIN_DIR "/graphctl supervise <", input, " >", output).c_str());
  EXPECT_EQ(WEXITSTATUS(status), ExitCode(ErrorCode::kUnavailable));
  EXPECT_THAT(ReadTextFile(output), HasSubstr("nothing has changed here"));
  EXPECT_EQ(Status().graphs.size(), 1U);
}

// A tensor with the rows of another version does not spoil the checkpoints of this one.
TEST_F(Switch, ACheckpointOfAllLeavesOutTheTensorsOfTheOtherVersion) {
  const DistGraph old = DistGraph(Initialize(TrainerOf("old")));
  DistTensor::Create(old, Spec("emb"));
  SwitchTo(next_.part_config(), "v2");
  const DistGraph fresh = DistGraph(Initialize(TrainerOf("new")));
  DistTensor::Create(fresh, Spec("emb2"));
  const auto names = [](const Checkpoint& checkpoint) {
    std::vector<std::string> all;
    for (const CheckpointTensor& tensor : checkpoint.tensors) all.push_back(tensor.spec.name);
    return all;
  };
  EXPECT_EQ(names(CreateCheckpoint(fresh, "all")), std::vector<std::string>{"emb2"});
  EXPECT_EQ(names(CreateCheckpoint(old, "old")), std::vector<std::string>{"emb"});
  CheckpointOptions named;
  named.tensors = {"emb"};
  EXPECT_THAT(ErrorOf([&] { CreateCheckpoint(fresh, "named", named); }),
              AllOf(StartsWith("invalid: "), HasSubstr("tensor 'emb'"), HasSubstr("version")));
}

TEST_F(Switch, AGraphThatCanNotBeServedChangesNothing) {
  const DistGraph old = DistGraph(Initialize(TrainerOf("old")));
  const auto fails = [&](const std::string& part_config) {
    return ErrorOf([&] { SwitchTo(part_config, "v2"); });
  };
  EXPECT_THAT(fails("/nowhere/g.json"), StartsWith("not_found: "));
  EXPECT_THAT(fails("relative.json"), StartsWith("invalid: "));
  EXPECT_THAT(fails("/a\nid x"), AllOf(StartsWith("invalid: "), HasSubstr("line break")));
  EXPECT_THAT(fails("/\xff.json"), StartsWith("invalid: "));
  ServedGraphFixture two{NewGraph(), std::vector<std::vector<int>>{}, 2};
  EXPECT_THAT(fails(two.part_config()), AllOf(StartsWith("invalid: "), HasSubstr("2 partitions")));
  // Damage in the middle of the structure.
  const std::string segment = DirName(next_.part_config()) + "/part0/graph.seg";
  {
    std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(64);
    file.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    ASSERT_TRUE(file.good());
  }
  EXPECT_THAT(fails(next_.part_config()), AllOf(StartsWith("corrupt: "), HasSubstr("graph.seg")));
  EXPECT_EQ(old.num_nodes(), kOldNodes);
  EXPECT_EQ(DegreesOf(old).size(), static_cast<size_t>(kOldNodes));
  EXPECT_EQ(Status().graphs.size(), 1U);
  EXPECT_EQ(DistGraph(Initialize(TrainerOf("new"))).num_nodes(), kOldNodes);
}

TEST_F(Switch, TheNextStartServesWhatWasSwitchedTo) {
  std::optional<DistGraph> old(Initialize(TrainerOf("old")));
  SwitchTo(next_.part_config(), "v2");
  const DistGraph fresh = DistGraph(Initialize(TrainerOf("new")));
  served_.Restart(0);
  const ServerStatus status = Status();
  EXPECT_EQ(status.part_config, next_.part_config());
  EXPECT_EQ(status.graphs.at(0).id, "v2");
  // A job of the version before learns that it can't go on; it never gets the other graph's
  // answers.
  EXPECT_THAT(ErrorOf([&] { DegreesOf(*old); }),
              AllOf(StartsWith("invalid: "), HasSubstr("start the job again")));
  EXPECT_EQ(DegreesOf(fresh).size(), static_cast<size_t>(kNewNodes));
}

TEST_F(Switch, TheSameFilesAreNotLoadedTwice) {
  SwitchTo(next_.part_config(), "v2");
  const std::string fingerprint = Status().graphs.at(0).fingerprint;
  WaitUntil("the old graph's memory", [&] { return Status().graphs.size() == 1; });
  const size_t memory_files = MemoryFiles();
  {
    const auto client = Connect();
    Prepare(*client, next_.part_config(), "v3");
    EXPECT_EQ(MemoryFiles(), memory_files);
    EXPECT_EQ(client->CommitSwitch().fingerprint, fingerprint);
  }
  EXPECT_THAT(ErrorOf([&] { SwitchTo(next_.part_config(), "v3"); }), StartsWith("exists: "));
}

// A launcher attaches to each daemon on its own, before the switch at one and after it at another.
TEST_F(Switch, ALauncherDoesNotDecideTheVersionOfItsJob) {
  const auto launcher = Connect();
  launcher->JoinJob({"new", JobRole::kLauncher, 0, 1, "", "secret of new"});
  // A thread has one client at a time.
  std::thread([&] { SwitchTo(next_.part_config(), "v2"); }).join();
  EXPECT_EQ(DistGraph(Initialize(TrainerOf("new"))).num_nodes(), kNewNodes);
}

// Changes the times of files of a part config, as writing them again would.
void Touch(const std::string& part_config) {
  for (const std::string& path : {part_config, DirName(part_config) + "/part0/graph.seg"}) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now());
  }
}

TEST_F(Switch, AJobDoesNotGoOnWithFilesThatHaveChanged) {
  const DistGraph job = DistGraph(Initialize(TrainerOf("job")));
  served_.Restart(0);
  EXPECT_EQ(DegreesOf(job).size(), static_cast<size_t>(kOldNodes));
  Touch(served_.part_config());
  served_.Restart(0);
  EXPECT_THAT(ErrorOf([&] { DegreesOf(job); }),
              AllOf(StartsWith("invalid: "), HasSubstr("have changed meanwhile")));
}

TEST_F(Switch, FilesThatHaveChangedAreNoLongerTheVersionOfTheSwitch) {
  SwitchTo(next_.part_config(), "v2");
  const DistGraph job = DistGraph(Initialize(TrainerOf("job")));
  served_.Restart(0);
  EXPECT_EQ(Status().graphs.at(0).id, "v2");
  EXPECT_EQ(DegreesOf(job).size(), static_cast<size_t>(kNewNodes));
  Touch(next_.part_config());
  served_.Restart(0);
  EXPECT_EQ(Status().graphs.at(0).id, "");
  EXPECT_THAT(ErrorOf([&] { DegreesOf(job); }), StartsWith("invalid: "));
}

TEST_F(Switch, TensorsOfTheOtherVersionAreRefusedByName) {
  const DistGraph old = DistGraph(Initialize(TrainerOf("old")));
  DistTensor embedding = DistTensor::Create(old, Spec("emb"));
  SwitchTo(next_.part_config(), "v2");
  const DistGraph fresh = DistGraph(Initialize(TrainerOf("new")));
  EXPECT_THAT(ErrorOf([&] { DistTensor::Create(fresh, Spec("emb")); }),
              AllOf(StartsWith("invalid: "), HasSubstr("tensor 'emb'"), HasSubstr("version")));
  DistTensor other = DistTensor::Create(fresh, Spec("emb2"));
  const std::vector<int64_t> last_old = {kOldNodes - 1}, last_new = {kNewNodes - 1};
  EXPECT_EQ(other.Read(last_new).shape()[0], 1);
  EXPECT_EQ(embedding.Read(last_old).shape()[0], 1);
  EXPECT_THAT(ErrorOf([&] { embedding.Read(last_new); }), StartsWith("invalid: "));
}

}  // namespace
}  // namespace graphd::testing
