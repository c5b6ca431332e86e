// SPDX-License-Identifier: Apache-2.0
// Tests that an InterruptCheck ends waiting calls soon.
#include "graphd/interrupt.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "graphd/data_loader.h"
#include "graphd/sparse_optim.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/slowness.h"

namespace graphd::testing {
namespace {

struct Stopped {};

// Expects that an interrupt 0.2 s from now ends the call within a second, or more on a busy
// machine.
void ExpectInterruptible(const std::string& what, const std::function<void()>& call) {
  const auto start = Clock::now();
  const InterruptCheck check([start] {
    if (SecondsSince(start) > 0.2) throw Stopped{};
  });
  EXPECT_THROW(call(), Stopped) << what;
  EXPECT_GT(SecondsSince(start), 0.19) << what;
  EXPECT_LT(SecondsSince(start), 0.2 + Slowness()) << what;
}

// Returns nodes of both partitions.
std::vector<int64_t> SomeNodes() {
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < ServedGraphFixture::kNodes; id += 6) ids.push_back(id);
  return ids;
}

class Interrupt : public ::testing::Test {
 protected:
  ServedGraphFixture served_{{{0}, {1}}};
};

TEST_F(Interrupt, EndsCallsThatWaitForADaemonThatDoesNotAnswer) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
  const DistTensor feat = graph.ndata("feat");
  const auto ids = SomeNodes();
  served_.daemon(1).Signal(SIGSTOP);
  ExpectInterruptible("Read", [&] { feat.Read(ids); });
  ExpectInterruptible("InDegrees", [&] { graph.InDegrees(ids); });
  ExpectInterruptible("SampleNeighbors", [&] { SampleNeighbors(graph, ids, {.fanout = 5}); });
  TensorSpec spec;
  spec.name = "made";
  ExpectInterruptible("Create", [&] { DistTensor::Create(graph, spec); });
  ExpectInterruptible("Initialize", [&] { Initialize(served_.TrainerOptions(Transport::kTcp)); });
  served_.daemon(1).Signal(SIGCONT);
  EXPECT_EQ(feat.Read(ids).num_rows(), 10000);  // the session still works
}

TEST_F(Interrupt, EndsABarrierAndASynchronousStepThatOthersDoNotReach) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto, 0, 2)));
  ExpectInterruptible("Barrier", [&] { graph.Barrier(); });
  DistEmbedding embedding(graph, {.name = "rows", .dim = 4});
  SparseSGD optimizer({&embedding}, {.mode = StepMode::kSynchronous});
  ExpectInterruptible("Step", [&] { optimizer.Step(); });
}

TEST_F(Interrupt, EndsTheWaitForAKilledDaemon) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
  served_.Kill(1);
  ExpectInterruptible("Read", [&] { graph.ndata("feat").Read(SomeNodes()); });
  ExpectInterruptible("Initialize", [&] { Initialize(served_.TrainerOptions(Transport::kTcp)); });
}

TEST_F(Interrupt, EndsTheWaitForABatchAndTheLoaderIsDestroyedAtOnce) {
  for (const int workers : {0, 2}) {
    DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
    DistNodeDataLoader loader(graph, SomeNodes(), NeighborSampler({5, 5}),
                              {.batch_size = 100, .num_workers = workers});
    loader.StartEpoch(0);
    ASSERT_TRUE(loader.Next());
    served_.daemon(1).Signal(SIGSTOP);
    ExpectInterruptible("Next", [&] {
      while (loader.Next()) {
      }
    });
    const auto start = Clock::now();
    { const DistNodeDataLoader gone(std::move(loader)); }
    EXPECT_LT(SecondsSince(start), Slowness()) << workers;
    served_.daemon(1).Signal(SIGCONT);
  }
}

TEST_F(Interrupt, CallsThatDoNotWaitDoNotCallTheCheck) {
  const DistGraph graph(Initialize(served_.StandaloneOptions()));
  int looks = 0;
  const InterruptCheck check([&] { looks++; });
  graph.ndata("feat").Read(SomeNodes());
  EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace graphd::testing
