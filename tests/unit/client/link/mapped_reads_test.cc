// SPDX-License-Identifier: Apache-2.0
// Tests that daemons learn what trainers read in their memory.
#include <gtest/gtest.h>
#include <signal.h>

#include <numeric>
#include <thread>

#include "base/clock.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

class MappedReadsTest : public ::testing::Test {
 protected:
  // Returns the counts of both daemons: those of all clients, or those of a job that is attached.
  MappedReads Counts(const std::string& job = "") {
    MappedReads sum;
    for (size_t daemon = 0; daemon < 2; daemon++) {
      const auto control =
          ControlClient::ConnectUnix(served_.socket_path(daemon), std::chrono::seconds(30));
      const ServerStatus status = control->Status();
      const auto add = [&sum](const MappedReads& reads) {
        sum.calls += reads.calls;
        sum.rows += reads.rows;
        sum.bytes += reads.bytes;
        sum.edges += reads.edges;
      };
      if (job.empty()) add(status.mapped_reads);
      for (const JobStatus& each : status.jobs) {
        if (each.job_id == job) add(each.mapped_reads);
      }
    }
    return sum;
  }
  // Waits until a job has told of as many rows, or for a time in which it should have.
  MappedReads CountsOf(const std::string& job, uint64_t rows) {
    const Clock::time_point start = Clock::now();
    for (;;) {
      const MappedReads counts = Counts(job);
      if (counts.rows >= rows || SecondsSince(start) > 20) return counts;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  ServedGraphFixture served_{{{0}, {1}}};
};

TEST_F(MappedReadsTest, AreToldWithinASecondAndByJob) {
  Options options = served_.TrainerOptions(Transport::kAuto);
  auto session = Initialize(options);
  options.job_id = "other";
  const auto other = Initialize(options);
  const DistGraph graph(session);
  std::vector<int64_t> ids(1000);
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int64_t>(60 * i);
  const DistTensor features = graph.ndata("feat");
  const uint64_t row_bytes = features.Read(ids).num_bytes() / ids.size();
  const uint64_t label_bytes = graph.ndata("label").Slice(100, 50100).num_bytes();
  uint64_t edges = 0;
  SampleOptions sample;
  sample.fanout = 3;
  for (int i = 0; i < 5; i++) edges += SampleNeighbors(graph, ids, sample).neighbors.size();
  static_cast<void>(graph.InDegrees(ids));
  ASSERT_GT(edges, 1000U);
  const MappedReads told = CountsOf("test", 51000);
  EXPECT_EQ(told.rows, 51000U);
  EXPECT_EQ(told.bytes, 1000 * row_bytes + label_bytes);
  EXPECT_EQ(told.edges, edges);
  EXPECT_EQ(told.calls, 16U);  // eight calls, each in two partitions
  EXPECT_EQ(Counts("other").calls, 0U);
}

TEST_F(MappedReadsTest, AreToldByATrainerThatLeavesAtOnce) {
  std::vector<int64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  {
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
    static_cast<void>(graph.ndata("feat").Read(ids));
  }
  EXPECT_EQ(Counts().rows, 100U);
  {  // over sockets, each row is one that the daemon sends
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
    static_cast<void>(graph.ndata("feat").Read(ids));
  }
  EXPECT_EQ(Counts().rows, 100U);
}

TEST_F(MappedReadsTest, IncludeRowsOfTensors) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
  TensorSpec spec;
  spec.name = "written";
  spec.policy = TensorPolicy::kNode;
  spec.row_shape = {4};
  DistTensor tensor = DistTensor::Create(graph, spec);
  std::vector<int64_t> ids(300);
  std::iota(ids.begin(), ids.end(), 1000);
  tensor.Write(ids, Tensor::Empty(DType::kFloat32, {300, 4}));
  for (int i = 0; i < 2; i++) static_cast<void>(tensor.Read(ids));
  const MappedReads told = CountsOf("test", 600);
  EXPECT_EQ(told.rows, 600U);
  EXPECT_EQ(told.bytes, 600U * 16);
}

TEST_F(MappedReadsTest, AreToldAgainAfterARestart) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
  std::vector<int64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  static_cast<void>(graph.ndata("feat").Read(ids));
  EXPECT_EQ(CountsOf("test", 100).rows, 100U);
  served_.Restart(0);
  served_.Restart(1);
  static_cast<void>(graph.InDegrees(ids));
  static_cast<void>(graph.ndata("feat").Read(ids));
  EXPECT_EQ(CountsOf("test", 100).rows, 100U);
}

TEST_F(MappedReadsTest, ADaemonThatDoesNotAnswerHoldsUpTheEndOnlyForAMoment) {
  auto session = Initialize(served_.TrainerOptions(Transport::kAuto));
  static_cast<void>(DistGraph(session).ndata("feat").Read(std::vector<int64_t>{1, 2, 3, 59000}));
  ::kill(served_.daemon(0).pid(), SIGSTOP);
  const Clock::time_point start = Clock::now();
  session.reset();
  EXPECT_LT(SecondsSince(start), 10);
  ::kill(served_.daemon(0).pid(), SIGCONT);
}

}  // namespace
}  // namespace graphd::testing
