// SPDX-License-Identifier: Apache-2.0
// Tests of what operators do with a real daemon, and of what its jobs see of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_embedding.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sparse_optim.h"
#include "tests/support/become_user.h"
#include "tests/support/error_of.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kLimit{20000};
const std::vector<int64_t> kSomeNodes = {1, 2, 3};

// Makes a step with an embedding of 16 columns, and waits for the servers.
void ChangeSomeNodes(DistEmbedding& embedding) {
  SparseAdagrad optimizer({&embedding}, {.mode = StepMode::kSynchronous});
  Tensor gradients = Tensor::Empty(DType::kFloat32, {3, 16});
  for (float& value : gradients.as<float>()) value = 1;
  embedding.Backward(kSomeNodes, gradients);
  optimizer.Step();
  optimizer.Wait();
}

class Control : public ::testing::Test {
 protected:
  Options TrainerOf(const std::string& job, int rank = 0, int world_size = 1) const {
    Options options = served_.TrainerOptions(Transport::kTcp, rank, world_size);
    options.job_id = job;
    options.job_secret = "secret of " + job;
    return options;
  }
  // Each call has an event loop of its own, and trainers in this process have others.
  template <class Call>
  auto Operate(Call&& call) const {
    return call(*ControlClient::ConnectUnix(served_.socket_path(0), kLimit));
  }
  ServerStatus Status() const {
    return Operate([](ControlClient& control) { return control.Status(); });
  }
  template <class Condition>
  void WaitUntil(const char* what, Condition&& condition) const {
    const auto start = Clock::now();
    while (!condition()) {
      ASSERT_LT(SecondsSince(start), 30) << what;
      ::usleep(5000);
    }
  }
  static TensorSpec Spec(const std::string& name) {
    TensorSpec spec;
    spec.name = name;
    spec.row_shape = {4};
    return spec;
  }

  ServedGraphFixture served_{HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
                             std::vector<std::vector<int>>{{0}}, 1};
};

TEST_F(Control, ADrainedServerRefusesNewJobsWhileOthersGoOn) {
  const DistGraph running = DistGraph(Initialize(TrainerOf("running")));
  EXPECT_TRUE(Operate([](ControlClient& c) { return c.Drain(true, "alice@host-1", "new disks"); }));
  EXPECT_FALSE(
      Operate([](ControlClient& c) { return c.Drain(true, "alice@host-1", "new disks"); }));
  const auto start = Clock::now();
  EXPECT_THAT(ErrorOf([&] { DistGraph(Initialize(TrainerOf("late"))); }),
              AllOf(StartsWith("denied: "), HasSubstr("takes no new jobs: alice@host-1 (uid "),
                    HasSubstr("(new disks)"), HasSubstr("graphctl server undrain")));
  EXPECT_LT(SecondsSince(start), 20);  // it does not wait for the server
  EXPECT_EQ(running.ndata("orig_id").Read(kSomeNodes).shape()[0], 3);
  const ServerStatus status = Status();
  ASSERT_TRUE(status.drained.has_value());
  EXPECT_THAT(status.drained->by, StartsWith("alice@host-1 (uid "));
  EXPECT_EQ(status.drained->reason, "new disks");
  EXPECT_EQ(status.state, "ready");

  EXPECT_TRUE(Operate([](ControlClient& c) { return c.Drain(false, "bob", ""); }));
  EXPECT_FALSE(Operate([](ControlClient& c) { return c.Drain(false, "bob", ""); }));
  EXPECT_NO_THROW(DistGraph(Initialize(TrainerOf("late"))));
  EXPECT_FALSE(Status().drained.has_value());
}

TEST_F(Control, RequestsInFlightSayWhatTheyWaitFor) {
  const DistGraph first = DistGraph(Initialize(TrainerOf("night", 0, 3)));
  const DistGraph second = DistGraph(Initialize(TrainerOf("night", 1, 3)));
  EXPECT_EQ(Operate([](ControlClient& c) { return c.Requests(10); }).total, 0U);
  std::thread waiting([&] { ErrorOf([&] { second.Barrier(); }); });
  OldestRequests found;
  // A request is listed before its trainer waits in the barrier.
  WaitUntil("a request in flight", [&] {
    found = Operate([](ControlClient& c) { return c.Requests(10); });
    return found.total == 1 && found.requests.at(0).state == "waits for ranks 0, 2";
  });
  const RequestStatus request = found.requests.at(0);
  EXPECT_EQ(request.operation, "barrier");
  EXPECT_EQ(request.job_id, "night");
  EXPECT_EQ(request.rank, 1);
  EXPECT_THAT(request.peer, StartsWith("127.0.0.1:"));
  std::thread later([&] { ErrorOf([&] { first.Barrier(); }); });
  WaitUntil("two requests in flight", [&] {
    found = Operate([](ControlClient& c) { return c.Requests(1); });
    return found.total == 2 && found.requests.at(0).state == "waits for rank 2";
  });
  ASSERT_EQ(found.requests.size(), 1U);
  EXPECT_EQ(found.requests[0].rank, 1);
  EXPECT_GE(found.requests[0].seconds, request.seconds);
  Operate([](ControlClient& c) { return c.EndJob("night", "alice", ""); });
  waiting.join();
  later.join();
  WaitUntil("no request in flight",
            [&] { return Operate([](ControlClient& c) { return c.Requests(1); }).total == 0; });
}

TEST_F(Control, APushThatWasAnsweredIsNoLongerListed) {
  const DistGraph graph = DistGraph(Initialize(TrainerOf("pusher")));
  DistEmbedding embedding(graph, {.name = "emb", .dim = 16});
  ChangeSomeNodes(embedding);
  WaitUntil("no request in flight",
            [&] { return Operate([](ControlClient& c) { return c.Requests(1); }).total == 0; });
}

TEST_F(Control, MemoryIsListedByArrayAndByTensor) {
  const DistGraph graph = DistGraph(Initialize(TrainerOf("memory")));
  DistEmbedding embedding(graph, {.name = "emb", .dim = 16});
  ChangeSomeNodes(embedding);
  const MemoryUse use = Operate([](ControlClient& c) { return c.Memory(100); });
  const ServerStatus status = Status();
  ASSERT_EQ(status.partitions.size(), 1U);
  EXPECT_EQ(use.graph_bytes, status.partitions[0].bytes);
  EXPECT_EQ(use.index_bytes, status.partitions[0].index_bytes);
  ASSERT_TRUE(status.store.has_value());
  EXPECT_EQ(use.tensor_bytes + use.buffer_bytes, status.store->resident_bytes);
  const auto indptr = std::find_if(use.arrays.begin(), use.arrays.end(),
                                   [](const ArrayMemory& a) { return a.name == "indptr"; });
  ASSERT_NE(indptr, use.arrays.end());
  EXPECT_EQ(indptr->segment, "graph");
  EXPECT_EQ(indptr->type, "_N:_E:_N");
  EXPECT_EQ(indptr->dtype, "uint64");
  EXPECT_EQ(indptr->shape, std::vector<int64_t>{1001});
  EXPECT_EQ(indptr->bytes, 8008U);
  EXPECT_FALSE(indptr->pages.empty());
  ASSERT_EQ(use.num_tensors, 1U);
  const TensorMemory& tensor = use.tensors.at(0);
  EXPECT_EQ(tensor.name, "emb");
  EXPECT_EQ(tensor.job_id, "");  // an embedding is persistent
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{1000, 16}));
  EXPECT_EQ(tensor.bytes, status.tensors.at(0).resident_bytes);
  EXPECT_GT(tensor.bytes, 0U);
  EXPECT_GT(tensor.changed_bytes, 0U);
  EXPECT_LE(tensor.changed_bytes, use.changed_bytes);
  // The largest array is shown if only one is wanted.
  const MemoryUse one = Operate([](ControlClient& c) { return c.Memory(1); });
  ASSERT_EQ(one.arrays.size(), 1U);
  EXPECT_EQ(one.num_arrays, use.arrays.size());
  for (const ArrayMemory& array : use.arrays) EXPECT_LE(array.bytes, one.arrays[0].bytes);
}

TEST_F(Control, AStepWaitsForTheOtherTrainers) {
  std::string ended;
  std::thread trainer([&] {
    ended = ErrorOf([&] {
      const DistGraph graph = DistGraph(Initialize(TrainerOf("steps", 0, 2)));
      DistEmbedding embedding(graph, {.name = "emb", .dim = 4});
      SparseAdagrad optimizer({&embedding}, {.mode = StepMode::kSynchronous});
      Tensor gradients = Tensor::Empty(DType::kFloat32, {3, 4});
      for (float& value : gradients.as<float>()) value = 1;
      embedding.Backward(kSomeNodes, gradients);
      optimizer.Step();
      optimizer.Wait();
    });
  });
  WaitUntil("a part of a step", [&] {
    const auto found = Operate([](ControlClient& c) { return c.Requests(10); });
    return std::any_of(found.requests.begin(), found.requests.end(), [](const auto& each) {
      return each.operation == "stage" && each.state == "waits for other trainers of its job";
    });
  });
  Operate([](ControlClient& c) { return c.EndJob("steps", "alice", ""); });
  trainer.join();
  EXPECT_THAT(ended, HasSubstr("was ended by alice"));
}

TEST_F(Control, ARestartEndsADrain) {
  Operate([](ControlClient& c) { return c.Drain(true, "alice", ""); });
  served_.Restart(0);
  EXPECT_FALSE(Status().drained.has_value());
  EXPECT_NO_THROW(DistGraph(Initialize(TrainerOf("late"))));
}

TEST_F(Control, AJobThatIsEndedLearnsWhoHasEndedIt) {
  const DistGraph ended = DistGraph(Initialize(TrainerOf("night", 0, 2)));
  const DistTensor tensor = DistTensor::Create(ended, Spec("scratch"));
  const DistGraph other = DistGraph(Initialize(TrainerOf("day")));
  const DistTensor kept = DistTensor::Create(other, Spec("kept"));
  // Its trainer waits for another one that never comes.
  std::string waited;
  std::thread waiting([&] { waited = ErrorOf([&] { ended.Barrier(); }); });
  const auto has_tensor = [&](const std::string& name) {
    const auto tensors = Status().tensors;
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const auto& each) { return each.info.spec.name == name; });
  };
  EXPECT_TRUE(has_tensor("scratch"));
  const auto start = Clock::now();
  EXPECT_GE(Operate([](ControlClient& c) { return c.EndJob("night", "alice@host-1", "too long"); }),
            1U);
  waiting.join();
  EXPECT_THAT(waited,
              AllOf(StartsWith("denied: "), HasSubstr("job night was ended by alice@host-1"),
                    HasSubstr("(too long)")));
  EXPECT_THAT(ErrorOf([&] { ended.ndata("orig_id").Read(kSomeNodes); }),
              AllOf(StartsWith("denied: "), HasSubstr("was ended by alice@host-1")));
  EXPECT_THAT(ErrorOf([&] { DistGraph(Initialize(TrainerOf("night", 1, 2))); }),
              HasSubstr("was ended by alice@host-1"));
  WaitUntil("the job's tensor to be dropped", [&] { return !has_tensor("scratch"); });
  EXPECT_LT(SecondsSince(start), 30);  // tensors of jobs that may come back stay for a minute
  const auto jobs = Status().jobs;
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job_id, "day");
  EXPECT_TRUE(has_tensor("kept"));
  EXPECT_EQ(kept.Read(kSomeNodes).shape()[0], 3);
}

TEST_F(Control, AnUnknownJobCanNotBeEnded) {
  const DistGraph running = DistGraph(Initialize(TrainerOf("day")));
  EXPECT_THAT(
      ErrorOf([&] { Operate([](ControlClient& c) { return c.EndJob("night", "alice", ""); }); }),
      AllOf(StartsWith("not_found: "), HasSubstr("no job 'night'"), HasSubstr("day")));
}

TEST_F(Control, TextsOfOperatorsAreShortLines) {
  for (const std::string& bad : {std::string(257, 'x'), std::string("two\nlines"),
                                 std::string("\xff"), std::string("\x1b[2J")}) {
    EXPECT_THAT(
        ErrorOf([&] { Operate([&](ControlClient& c) { return c.Drain(true, "alice", bad); }); }),
        StartsWith("invalid: "));
    EXPECT_THAT(ErrorOf([&] { Operate([&](ControlClient& c) { return c.Drain(true, bad, ""); }); }),
                StartsWith("invalid: "));
  }
  EXPECT_FALSE(Status().drained.has_value());
}

TEST_F(Control, IsRefusedOverTcp) {
  const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_.ip_config())).at(0);
  EXPECT_THAT(
      ErrorOf([&] {
        ControlClient::ConnectTcp(daemon.address, daemon.port, kLimit)->Drain(true, "alice", "");
      }),
      AllOf(StartsWith("denied: "), HasSubstr("Unix socket")));
}

TEST(ControlByOthers, NeedsTheRightToOperate) {
  ASSERT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
  const ServedGraphFixture served(HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
                                  std::vector<std::vector<int>>{{0}}, 1,
                                  {"--allow_write", "user:65534"});
  for (const std::string& folder :
       {DirName(served.runtime_dir()), served.runtime_dir(), DirName(served.socket_path(0))}) {
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  }
  std::thread([&] {
    ASSERT_TRUE(BecomeUser(kNobody));
    const auto control = ControlClient::ConnectUnix(served.socket_path(0), kLimit);
    EXPECT_EQ(control->Status().state, "ready");
    for (const std::string& error : {ErrorOf([&] { control->Drain(true, "mallory", ""); }),
                                     ErrorOf([&] { control->EndJob("day", "mallory", ""); })}) {
      EXPECT_THAT(error, AllOf(StartsWith("denied: user 65534 may not control this server"),
                               HasSubstr("--allow_operate")));
    }
  }).join();
}

}  // namespace
}  // namespace graphd::testing
