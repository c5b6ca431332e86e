// SPDX-License-Identifier: Apache-2.0
// Tests the end of a daemon that has changed rows to write back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/service_messages.h"

namespace graphd::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr int64_t kRows = 50'000, kColumns = 1024;  // 195 MiB

Tensor Numbered(int64_t begin, int64_t end) {
  Tensor rows = Tensor::Empty(DType::kFloat32, {end - begin, kColumns});
  auto values = rows.as<float>();
  for (size_t i = 0; i < values.size(); i++) {
    values[i] = static_cast<float>(begin) + static_cast<float>(i);
  }
  return rows;
}

TEST(Drain, WritesChangedRowsBackAndReportsHowFarItIs) {
  RawGraph graph = HomogeneousGraph(kRows, {{0, 1}});
  ScratchDirectory scratch;
  const ServiceMessages messages(scratch / "notify");
  ServedGraphFixture served(graph, {{0}}, 1);
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kColumns};
  spec.persistent = true;
  {
    const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kTcp)));
    const DistTensor tensor = DistTensor::Create(trainer, spec);
    for (int64_t row = 0; row < kRows; row += 10'000) {
      std::vector<int64_t> ids;
      for (int64_t id = row; id < row + 10'000; id++) ids.push_back(id);
      tensor.Write(ids, Numbered(row, row + 10'000));
    }
  }
  served.daemon(0).Signal(SIGTERM);
  bool seen = false;
  try {
    const auto control = ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(5));
    for (;;) {
      const ServerStatus status = control->Status();
      if (status.state != "draining") continue;
      if (!seen) {
        seen = true;
        JobMember late;
        late.job_id = "late";
        EXPECT_THAT([&] { control->JoinJob(late); },
                    ThrowsMessage<Error>(HasSubstr("it is stopping")));
      }
      EXPECT_LE(status.store.value().written_bytes, status.store.value().changed_bytes);
    }
  } catch (const Error&) {  // it has ended
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(served.daemon(0).Wait(), 0) << served.daemon(0).Log();
  EXPECT_THAT(served.daemon(0).Log(),
              ::testing::ContainsRegex("writing changed rows back: .* of 19[0-9] MiB"));
  EXPECT_THAT(served.daemon(0).Log(),
              ::testing::ContainsRegex("changed rows are written back: 19[0-9] MiB in "));
  EXPECT_THAT(messages.lines(), Contains("STOPPING=1"));
  EXPECT_THAT(messages.lines(), Contains(StartsWith("EXTEND_TIMEOUT_USEC=")));
  EXPECT_THAT(messages.lines(),
              Contains(::testing::ContainsRegex("STATUS=stopping: writing changed rows back: "
                                                ".* of 19[0-9] MiB, .*iB/s, .* s left")));

  served.StartAgain(0);
  served.daemon(0).WaitReady(served.socket_path(0));
  const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kTcp)));
  const DistTensor tensor = DistTensor::Open(trainer, "rows");
  const Tensor rows = tensor.Slice(30'000, 31'000), wanted = Numbered(30'000, 40'000);
  EXPECT_TRUE(
      std::equal(rows.as<float>().begin(), rows.as<float>().end(), wanted.as<float>().begin()));
}

TEST(Drain, LetsRequestsEndThatHaveBegun) {
  constexpr int64_t kNodes = 20'000;
  ServedGraphFixture served(HomogeneousGraph(kNodes, RandomMultigraph(kNodes, 20 * kNodes, 1)),
                            {{0}}, 1, {"--log_level", "debug"});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(10);
  std::vector<int64_t> seeds(kNodes);
  std::iota(seeds.begin(), seeds.end(), 0);
  std::atomic<int> sampled{0};
  std::thread trainer([&] {
    try {
      const DistGraph graph = DistGraph(Initialize(options));
      // Several threads of the daemon sample, and join what they have found, one after the other.
      for (;; sampled++) SampleNeighbors(graph, seeds, {.fanout = -1});
    } catch (const Error&) {  // the daemon has ended
    }
  });
  while (sampled < 10) std::this_thread::yield();
  const Clock::time_point begin = Clock::now();
  served.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(served.daemon(0).Wait(), 0) << served.daemon(0).Log();
  EXPECT_LT(SecondsSince(begin), 5);
  trainer.join();
  // New requests were refused, and none that had begun.
  EXPECT_THAT(served.daemon(0).Log(), ::testing::Not(HasSubstr("shutting down")));
}

}  // namespace
}  // namespace graphd::testing
