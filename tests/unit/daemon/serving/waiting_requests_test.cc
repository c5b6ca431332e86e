// SPDX-License-Identifier: Apache-2.0
// Stops a single thread of a real daemon, and looks at what the daemon tells operators about the
// requests that wait for it (graphctl debug requests).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/stopped_thread.h"

namespace graphd::testing {
namespace {

constexpr int64_t kGraphNodes = 20'000, kRowElements = 64;
constexpr int kWriters = 10;  // Each has 5 MB; a job may have less in the store at a time.

class WaitingRequests : public ::testing::Test {
 protected:
  pid_t pid() { return served_.daemon(0).pid(); }

  // Waits until a request of this operation has this state.
  bool Shown(const std::string& operation, const std::string& state) const {
    return Await([&] {
      const auto control =
          ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(20));
      const OldestRequests found = control->Requests(100);
      return std::ranges::any_of(found.requests, [&](const RequestStatus& each) {
        return each.operation == operation && each.state == state;
      });
    });
  }

  std::vector<int64_t> AllNodes() const {
    std::vector<int64_t> ids(kGraphNodes);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }

  ServedGraphFixture served_{
      HomogeneousGraph(kGraphNodes, RandomMultigraph(kGraphNodes, 5 * kGraphNodes, 1)),
      {{0}},
      1,
      {"--num_servers", "1"}};
  const DistGraph graph_ = DistGraph(Initialize(served_.TrainerOptions(Transport::kTcp)));
};

TEST_F(WaitingRequests, ForAThreadThatComputes) {
  StoppedThread compute(pid(), "compute 0", StoppedThread::kIdle);
  size_t edges = 0;
  std::thread trainer(
      [&] { edges = SampleNeighbors(graph_, AllNodes(), {.fanout = 5}).neighbors.size(); });
  EXPECT_TRUE(Shown("hop", "waits for a thread of the daemon"));
  compute.GoOn();
  trainer.join();
  EXPECT_GT(edges, 0U);
}

TEST_F(WaitingRequests, ForAnIndex) {
  StoppedThread builds(pid(), "builds 0", StoppedThread::kIdle);
  size_t edges = 0;
  std::thread trainer([&] {
    edges = SampleNeighbors(graph_, AllNodes(), {.fanout = 5, .direction = Direction::kOut})
                .neighbors.size();
  });
  EXPECT_TRUE(Shown("hop", "waits for an index that is built"));
  builds.GoOn();
  trainer.join();
  EXPECT_GT(edges, 0U);
}

TEST_F(WaitingRequests, ForAnIndexKeepNoTensorWaiting) {
  StoppedThread builds(pid(), "builds 0", StoppedThread::kIdle);
  auto sampled = std::async(std::launch::async, [&] {
    return SampleNeighbors(graph_, AllNodes(), {.fanout = 5, .direction = Direction::kOut});
  });
  EXPECT_TRUE(Shown("hop", "waits for an index that is built"));
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kRowElements};
  EXPECT_NO_THROW(DistTensor::Create(graph_, spec));
  builds.GoOn();
  EXPECT_FALSE(sampled.get().neighbors.empty());
}

TEST_F(WaitingRequests, ForTheStoreAndForATurn) {
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kRowElements};
  const DistTensor tensor = DistTensor::Create(graph_, spec);
  const std::vector<int64_t> ids = AllNodes();
  Tensor rows = Tensor::Empty(DType::kFloat32, {kGraphNodes, kRowElements});
  std::ranges::fill(rows.as<float>(), 1.0F);
  StoppedThread log(pid(), "push log", StoppedThread::kIdle);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; i++) {
    writers.emplace_back([&] { tensor.Write(ids, rows); });
  }
  EXPECT_TRUE(Shown("push", "waits for the store to log and make a change"));
  EXPECT_TRUE(Shown("push", "waits for its turn among the changes of all jobs"));
  log.GoOn();
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace graphd::testing
