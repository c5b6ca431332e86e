// SPDX-License-Identifier: Apache-2.0
// Tests that daemons learn what trainers read in their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <signal.h>

#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  // Returns Counts(job) when each of them has reached what is expected, or when a time in which it
  // should have is over. A trainer may tell of its reads in several messages.
  MappedReads CountsOf(const std::string& job, const MappedReads& expected) {
    const Clock::time_point start = Clock::now();
    for (;;) {
      const MappedReads counts = Counts(job);
      if ((counts.calls >= expected.calls && counts.rows >= expected.rows &&
           counts.bytes >= expected.bytes && counts.edges >= expected.edges) ||
          SecondsSince(start) > 20) {
        return counts;
      }
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
  // Eight calls, each in two partitions.
  const MappedReads expected{16, 51000, 1000 * row_bytes + label_bytes, edges};
  const MappedReads told = CountsOf("test", expected);
  EXPECT_EQ(told.rows, expected.rows);
  EXPECT_EQ(told.bytes, expected.bytes);
  EXPECT_EQ(told.edges, expected.edges);
  EXPECT_EQ(told.calls, expected.calls);
  EXPECT_EQ(Counts("other").calls, 0U);
}

TEST_F(MappedReadsTest, AreToldByATrainerThatLeavesAtOnce) {
  std::vector<int64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  {
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
    static_cast<void>(graph.ndata("feat").Read(ids));
  }
  EXPECT_EQ(CountsOf("", {1, 100, 0, 0}).rows, 100U);
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
  const MappedReads told = CountsOf("test", {2, 600, 600U * 16, 0});
  EXPECT_EQ(told.rows, 600U);
  EXPECT_EQ(told.bytes, 600U * 16);
}

TEST_F(MappedReadsTest, AreToldAgainAfterARestart) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
  std::vector<int64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  static_cast<void>(graph.ndata("feat").Read(ids));
  // A daemon that is killed takes its counts with it.
  EXPECT_EQ(CountsOf("test", {1, 100, 1, 0}).rows, 100U);
  served_.Restart(0);
  served_.Restart(1);
  static_cast<void>(graph.InDegrees(ids));
  static_cast<void>(graph.ndata("feat").Read(ids));
  EXPECT_EQ(CountsOf("test", {1, 100, 0, 0}).rows, 100U);
}

TEST_F(MappedReadsTest, AreRefusedIfTheyCannotBeTrue) {
  const HostLine tcp = ReadIpConfig(served_.ip_config())[0];
  // Returns the error of a message, from another client each time.
  const auto tell = [](ClientSocket socket, const MappedReads& reads) -> std::string {
    auto io = kj::setupAsyncIo();
    Connection connection(*io.lowLevelProvider, std::move(socket), BufferPool::Create());
    auto attach = connection.Bootstrap().attachRequest();
    WriteHello(attach.initHello());
    attach.initMember().setWorldSize(1);
    auto session = attach.send().wait(io.waitScope).getSession();
    auto request = session.countReadsRequest();
    WriteMappedReads(reads, request.initReads());
    try {
      request.send().wait(io.waitScope);
      return "no error";
    } catch (const kj::Exception& exception) {
      const Error error = FromKj(exception, "the daemon");
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
  };
  const auto by_unix = [&] {
    return ClientSocket{ConnectUnix(served_.socket_path(0), 5000), true};
  };
  EXPECT_THAT(tell(ConnectTcp(tcp.address, tcp.port, 5000), {1, 1, 1, 1}), StartsWith("denied: "));
  EXPECT_THAT(tell(by_unix(), {1, kMostToldReads.rows + 1, 1, 1}),
              AllOf(StartsWith("invalid: "), HasSubstr("1099511627777 rows")));
  EXPECT_EQ(Counts().calls, 0U);
  EXPECT_EQ(tell(by_unix(), kMostToldReads), "no error");
  EXPECT_EQ(Counts().bytes, kMostToldReads.bytes);
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
