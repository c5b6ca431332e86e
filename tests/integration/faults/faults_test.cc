// SPDX-License-Identifier: Apache-2.0
// Faults that must not end a daemon: its memory in the tmpfs is removed, replaced or truncated, and
// its descriptors run out. Trainers get errors that name the reason, rows can be read, and nothing
// that was acknowledged is lost.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"

namespace graphd::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kNodes = 20'000;
constexpr int64_t kDim = 128;  // 10 MB in all

RawGraph Ring() {
  EdgeList edges;
  for (uint32_t v = 0; v < kNodes; v++) edges.push_back({v, (v + 1) % uint32_t{kNodes}});
  return HomogeneousGraph(kNodes, edges);
}

// Calls f until it returns true.
void WaitUntil(const std::function<bool()>& f) {
  const auto start = Clock::now();
  while (!f()) {
    ASSERT_LT(SecondsSince(start), 20);
    ::usleep(10'000);
  }
}

std::string Failure(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

class Faults : public ::testing::Test {
 protected:
  void Serve() { served_.emplace(Ring(), std::vector<std::vector<int>>{{0}}, 1); }
  DistGraph Connect(const std::string& job, Transport transport = Transport::kTcp) const {
    Options options = served_->TrainerOptions(transport);
    options.job_id = job;
    options.timeout = std::chrono::seconds(8);
    return DistGraph(Initialize(options));
  }
  static DistTensor Make(const DistGraph& graph) {
    TensorSpec spec;
    spec.name = "sums";
    spec.row_shape = {kDim};
    spec.persistent = true;
    spec.writers = TensorWriters::kMany;
    return DistTensor::Create(graph, spec);
  }
  static void AddOne(const DistTensor& tensor) {
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < kNodes; id++) ids.push_back(id);
    Tensor ones = Tensor::Empty(DType::kFloat32, {kNodes, kDim});
    for (float& one : ones.as<float>()) one = 1;
    tensor.Add(ids, ones);
  }
  static void ExpectAll(const DistTensor& tensor, float value) {
    const Tensor rows = tensor.Slice(0, kNodes);
    for (const float each : rows.as<float>()) ASSERT_EQ(each, value);
  }
  StoreStatus Status() const {
    const auto control =
        ControlClient::ConnectUnix(served_->socket_path(0), std::chrono::seconds(5));
    return control->Status().store.value();
  }
  void StopAndStartAgain() {
    served_->daemon(0).Signal(SIGTERM);
    EXPECT_EQ(served_->daemon(0).Wait(), 0) << served_->daemon(0).Log();
    served_->StartAgain(0);
    served_->daemon(0).WaitReady(served_->socket_path(0));
  }

  std::optional<ServedGraphFixture> served_;
};

TEST_F(Faults, ARemovedMemoryDirectoryMakesTablesReadOnlyAndLosesNothing) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  for (int i = 0; i < 3; i++) AddOne(tensor);
  const std::string memory = Status().memory;
  ASSERT_TRUE(fs::exists(memory));
  fs::remove_all(memory);
  // The log needs a new segment after two of these pushes.
  for (int i = 0; i < 4; i++) {
    EXPECT_THAT(Failure([&] { AddOne(tensor); }), AllOf(HasSubstr(memory), HasSubstr("removed")));
  }
  EXPECT_THAT(Status().trouble, AllOf(HasSubstr(memory), HasSubstr("removed")));
  ExpectAll(Make(Connect("reader")), 3);
  StopAndStartAgain();
  ExpectAll(tensor, 3);
  EXPECT_EQ(Status().trouble, "");
  AddOne(tensor);
  ExpectAll(tensor, 4);
}

TEST_F(Faults, ADaemonThatIsKilledAfterItsMemoryWasReplacedHasLostNothing) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  for (int i = 0; i < 3; i++) AddOne(tensor);
  const std::string memory = Status().memory;
  fs::rename(memory, memory + "-moved");
  fs::create_directory(memory);
  WaitUntil([&] { return served_->daemon(0).Log().find("was replaced") != std::string::npos; });
  const std::string state = DirName(served_->runtime_dir()) + "/state";
  WaitUntil([&] {
    for (const auto& entry : fs::recursive_directory_iterator(state)) {
      if (entry.path().filename() == "memory") return false;
    }
    return true;
  });
  EXPECT_TRUE(fs::is_empty(memory));
  served_->Restart(0);
  ExpectAll(tensor, 3);
  AddOne(tensor);
  ExpectAll(tensor, 4);
  fs::remove_all(memory + "-moved");
}

// The daemon gets a SIGBUS when it uses the memory.
TEST_F(Faults, TruncatedMemoryIsReportedAndItsRowsAreNeitherServedNorStored) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  AddOne(tensor);
  const std::string rows = Status().memory + "/table-1.rows";
  fs::resize_file(rows, 0);
  EXPECT_THAT(Failure([&] { AddOne(tensor); }), HasSubstr(rows));
  EXPECT_THAT(Failure([&] { AddOne(tensor); }), HasSubstr(rows));
  EXPECT_THAT(Status().trouble, HasSubstr(rows));
  ExpectAll(Make(Connect("reader")), 0);  // nothing was written back yet
  StopAndStartAgain();
  EXPECT_THAT(Failure([&] { AddOne(tensor); }), AllOf(HasSubstr("corrupt: "), HasSubstr("sums")));
}

TEST_F(Faults, MemoryThatATrainerHasMappedIsTruncatedAndTheTrainerAsksTheDaemon) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  AddOne(tensor);
  const DistTensor mapped = Make(Connect("reader", Transport::kAuto));
  ExpectAll(mapped, 1);
  const std::string rows = Status().memory + "/table-1.rows";
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const Tensor all = mapped.Slice(0, kNodes);
      for (const float each : all.as<float>()) ASSERT_TRUE(each == 1 || each == 0);
    }
  });
  fs::resize_file(rows, 0);
  ExpectAll(mapped, 0);  // nothing was written back yet
  done = true;
  reader.join();
  EXPECT_THAT(Failure([&] { AddOne(mapped); }), HasSubstr(rows));
}

// The daemon is killed while it changes the first page, which the page's lock shows, and the undo
// log that should restore the page is truncated.
TEST_F(Faults, ATruncatedUndoLogMakesTheTableReadOnlyAfterAKill) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  for (int i = 0; i < 3; i++) AddOne(tensor);
  const std::string memory = Status().memory;
  served_->daemon(0).Signal(SIGKILL);
  served_->daemon(0).Wait();
  {
    const UniqueFd rows = OpenFile(memory + "/table-1.rows", O_RDWR);
    uint64_t word = 0;
    ASSERT_EQ(::pread(rows.get(), &word, sizeof word, 0), ssize_t{sizeof word});
    word |= 1;
    ASSERT_EQ(::pwrite(rows.get(), &word, sizeof word, 0), ssize_t{sizeof word});
  }
  fs::resize_file(memory + "/undo-0", 0);
  served_->StartAgain(0);
  served_->daemon(0).WaitReady(served_->socket_path(0));
  EXPECT_THAT(Failure([&] { AddOne(tensor); }),
              AllOf(HasSubstr("corrupt: "), HasSubstr("sums"), HasSubstr("/undo-0 was truncated"),
                    HasSubstr("restore a checkpoint, or drop it")));
  ExpectAll(tensor, 3);
  EXPECT_THAT(served_->daemon(0).Log(), HasSubstr("/undo-0 was truncated"));
  EXPECT_TRUE(fs::exists(Status().memory + "/damaged-undo-0"));
}

TEST_F(Faults, MemoryThatIsTruncatedDuringPushesDoesNotEndTheDaemon) {
  Serve();
  const DistTensor tensor = Make(Connect("writer"));
  AddOne(tensor);
  const std::string rows = Status().memory + "/table-1.rows";
  std::atomic<bool> failed = false;
  std::thread pusher([&] {
    for (int i = 0; i < 1000 && !failed; i++) {
      failed = Failure([&] { AddOne(tensor); }) != "no error";
    }
  });
  ::usleep(100'000);
  fs::resize_file(rows, 0);
  pusher.join();
  EXPECT_TRUE(failed);
  EXPECT_THAT(Status().trouble, HasSubstr(rows));
}

TEST_F(Faults, IdleConnectionsLeaveDescriptorsForTheStore) {
  ::setenv("GRAPHD_TEST_DESCRIPTORS", "512", 1);
  Serve();
  ::unsetenv("GRAPHD_TEST_DESCRIPTORS");
  const DistTensor tensor = Make(Connect("writer"));
  AddOne(tensor);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 600; i++) idle.push_back(ConnectUnix(served_->socket_path(0), 5000));
  WaitUntil([&] {
    return served_->daemon(0).Log().find("which are kept for the store") != std::string::npos;
  });
  EXPECT_NE(Failure([&] { Connect("late"); }), "no error");
  // New segments of the log, a new table and a write-back need descriptors.
  for (int i = 0; i < 8; i++) AddOne(tensor);
  ExpectAll(tensor, 9);
  idle.clear();
  WaitUntil([&] { return Failure([&] { Connect("later"); }) == "no error"; });
  EXPECT_EQ(Status().trouble, "");
  StopAndStartAgain();
  ExpectAll(tensor, 9);
}

}  // namespace
}  // namespace graphd::testing
