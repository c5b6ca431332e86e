// SPDX-License-Identifier: Apache-2.0
// Tests of what another user of the machine can do with a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/checkpoint.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/become_user.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Runs `action` as another user, in a thread whose sockets and threads are that user's; returns
// what it threw.
std::string ErrorAsNobody(const std::function<void()>& action) {
  EXPECT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
  std::string text = "no error";
  std::thread([&] {
    ASSERT_TRUE(BecomeUser(kNobody));
    try {
      action();
    } catch (const Error& error) {
      text = StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
  }).join();
  return text;
}

// A daemon of root with a socket that every user can reach.
class ForeignUser : public ::testing::Test {
 protected:
  void Serve(const std::vector<std::string>& arguments) {
    served_ = std::make_unique<ServedGraphFixture>(
        HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), Daemons{{0, 1}}, 2, arguments);
    const std::string scratch = DirName(served_->runtime_dir());
    for (const std::string& folder :
         {scratch, served_->runtime_dir(), DirName(served_->socket_path(0))}) {
      ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    }
  }
  std::string ControlError(bool tcp, const std::function<void(ControlClient&)>& call) const {
    return ErrorAsNobody([&] {
      const auto limit = std::chrono::milliseconds(20000);
      const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_->ip_config())).at(0);
      const auto client = tcp ? ControlClient::ConnectTcp(daemon.address, daemon.port, limit)
                              : ControlClient::ConnectUnix(served_->socket_path(0), limit);
      call(*client);
    });
  }
  // Attaches as another user and runs `action`; returns what either threw.
  std::string TrainerError(Transport transport,
                           const std::function<void(const DistGraph&)>& action) const {
    return ErrorAsNobody([&] {
      Options options = served_->TrainerOptions(transport);
      options.job_id = "job of nobody";
      action(DistGraph(Initialize(options)));
    });
  }
  static TensorSpec Spec() {
    TensorSpec spec;
    spec.name = "t";
    spec.persistent = true;
    return spec;
  }

  using Daemons = std::vector<std::vector<int>>;
  std::unique_ptr<ServedGraphFixture> served_;
};

void ReadStatus(ControlClient& client) { client.Status(); }
void Stop(ControlClient& client) { client.Shutdown(true); }
void DoNothing(const DistGraph&) {}

TEST_F(ForeignUser, GetsNothingButAnError) {
  Serve({});
  EXPECT_THAT(ControlError(false, ReadStatus), StartsWith("denied: no permission for"));
  EXPECT_THAT(ControlError(true, ReadStatus),
              AllOf(StartsWith("denied: "), HasSubstr("user 65534 may not"),
                    HasSubstr("--allow_read user:65534")));
  EXPECT_THAT(TrainerError(Transport::kUnix, DoNothing), StartsWith("denied: "));
  EXPECT_THAT(TrainerError(Transport::kTcp, DoNothing), StartsWith("denied: "));
}

TEST_F(ForeignUser, ReadersReadAndChangeNothing) {
  Serve({"--allow_read", "user:nobody"});
  {
    const DistGraph graph(Initialize(served_->TrainerOptions(Transport::kUnix)));
    DistTensor::Create(graph, Spec());
    CreateCheckpoint(graph, "first");
  }
  for (const Transport transport : {Transport::kUnix, Transport::kTcp}) {
    const std::vector<int64_t> ids = {1, 2, 3};
    const Tensor ones = Tensor::Empty(DType::kFloat32, {3});
    EXPECT_EQ(TrainerError(transport,
                           [&](const DistGraph& graph) {
                             graph.InDegrees(ids);
                             graph.ndata("feat").Read(ids);
                             DistTensor::Open(graph, "t").Read(ids);
                             ListCheckpoints(graph);
                           }),
              "no error");
    const auto error = [&](const std::function<void(const DistGraph&)>& action) {
      return TrainerError(transport, action);
    };
    EXPECT_THAT(error([&](const DistGraph& graph) {
                  TensorSpec spec = Spec();
                  spec.name = "new";
                  DistTensor::Create(graph, spec);
                }),
                AllOf(StartsWith("denied: "), HasSubstr("create tensors (role: reader)")));
    EXPECT_THAT(
        error([&](const DistGraph& graph) { DistTensor::Open(graph, "t").Write(ids, ones); }),
        AllOf(StartsWith("denied: "), HasSubstr("change tensors (role: reader)")));
    EXPECT_THAT(error([](const DistGraph& graph) { DistTensor::Drop(graph, "t"); }),
                StartsWith("denied: "));
    EXPECT_THAT(error([](const DistGraph& graph) { CreateCheckpoint(graph, "c"); }),
                AllOf(StartsWith("denied: "), HasSubstr("make checkpoints")));
    EXPECT_THAT(error([](const DistGraph& graph) { RestoreCheckpoint(graph, "first"); }),
                StartsWith("denied: "));
    EXPECT_THAT(error([](const DistGraph& graph) { DeleteCheckpoint(graph, "first"); }),
                AllOf(StartsWith("denied: "), HasSubstr("delete checkpoints")));
  }
  EXPECT_EQ(ControlError(false, ReadStatus), "no error");
  EXPECT_THAT(ControlError(false, Stop),
              AllOf(StartsWith("denied: "), HasSubstr("stop this server (role: reader)")));
}

TEST_F(ForeignUser, WritersMakeCheckpointsButDeleteNone) {
  Serve({"--allow_write", "group:65534"});
  EXPECT_EQ(TrainerError(Transport::kUnix,
                         [](const DistGraph& graph) {
                           DistTensor::Create(graph, Spec());
                           CreateCheckpoint(graph, "c");
                         }),
            "no error");
  EXPECT_THAT(
      TrainerError(Transport::kUnix, [](const DistGraph& graph) { DeleteCheckpoint(graph, "c"); }),
      AllOf(StartsWith("denied: "), HasSubstr("delete checkpoints (role: writer)")));
  EXPECT_THAT(ControlError(false, Stop), StartsWith("denied: "));
}

TEST_F(ForeignUser, CanNotJoinAJobOfSomebodyElse) {
  Serve({"--allow_write", "all"});
  Options options = served_->TrainerOptions(Transport::kUnix, 0, 2);
  const auto session = Initialize(options);
  EXPECT_THAT(ErrorAsNobody([&] {
                Options other = served_->TrainerOptions(Transport::kUnix, 1, 2);
                Initialize(other);
              }),
              AllOf(StartsWith("denied: job test has another secret or another user"),
                    HasSubstr("GRAPHD_JOB_SECRET")));
}

TEST_F(ForeignUser, JoinsAJobWhoseSecretItHas) {
  Serve({"--allow_write", "all"});
  Options options = served_->TrainerOptions(Transport::kUnix, 0, 2);
  options.job_secret = "the secret";
  const auto session = Initialize(options);
  EXPECT_EQ(ErrorAsNobody([&] {
              Options other = served_->TrainerOptions(Transport::kUnix, 1, 2);
              other.job_secret = "the secret";
              Initialize(other);
            }),
            "no error");
}

}  // namespace
}  // namespace graphd::testing
