// SPDX-License-Identifier: Apache-2.0
// Stops a single thread of a real daemon, as a fault would, and looks at what the service manager
// and the log are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/sampling.h"
#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/support/service_messages.h"
#include "tests/support/stopped_thread.h"
#include "wire/graph_messages.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kTensorRows = 20'000, kTensorColumns = 64;

// A daemon that notifies a service manager's watchdog, and whose threads hang after a second.
class WatchedDaemon {
 public:
  explicit WatchedDaemon(const RawGraph& graph) : messages_(scratch_ / "notify") {
    ::setenv("WATCHDOG_USEC", "200000", 1);
    // The daemon gets a single thread for connections, so that the test knows which one to stop.
    served_.emplace(graph, std::vector<std::vector<int>>{{0}}, 1,
                    std::vector<std::string>{"--hang_timeout", "1", "--data_threads", "1"});
    ::unsetenv("WATCHDOG_USEC");
    EXPECT_TRUE(Await([&] { return Notified() > 2; }));
  }
  ServedGraphFixture& served() { return *served_; }

  // Stops the thread while `work` uses it again and again, and checks what the log and the service
  // manager are told.
  void StopThread(const std::string& name, const std::function<void()>& work) {
    std::atomic<bool> ended{false};
    std::thread worker([&] {
      while (!ended) work();
    });
    StoppedThread thread(served_->daemon(0).pid(), name, StoppedThread::kInOwnCode);
    EXPECT_TRUE(Logged(StrCat("thread '", name, "' has hung for "))) << Log();
    std::this_thread::sleep_for(std::chrono::seconds(1));  // earlier messages have arrived then
    EXPECT_FALSE(NotifiedMore());
    const std::string goes_on = StrCat("thread '", name, "' goes on");
    EXPECT_THAT(Log(), Not(HasSubstr(goes_on)));
    thread.GoOn();
    EXPECT_TRUE(Logged(goes_on)) << Log();
    const auto before = Notified();
    EXPECT_TRUE(Await([&] { return Notified() > before; }));
    ended = true;
    worker.join();
  }

 private:
  std::string Log() { return served_->daemon(0).Log(); }
  bool Logged(const std::string& text) {
    return Await([&] { return Log().find(text) != std::string::npos; });
  }
  ptrdiff_t Notified() const {
    const std::vector<std::string> lines = messages_.lines();
    return std::count(lines.begin(), lines.end(), "WATCHDOG=1");
  }
  bool NotifiedMore() const {
    const auto before = Notified();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    return Notified() > before;
  }

  ScratchDirectory scratch_;
  const ServiceMessages messages_;
  std::optional<ServedGraphFixture> served_;
};

TEST(Hang, TheWatchdogIsNotNotifiedWhileAThreadOfTheStoreHangs) {
  WatchedDaemon daemon(HomogeneousGraph(kTensorRows, {{0, 1}}));
  const DistGraph trainer = DistGraph(Initialize(daemon.served().TrainerOptions(Transport::kTcp)));
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kTensorColumns};
  const DistTensor tensor = DistTensor::Create(trainer, spec);
  std::vector<int64_t> ids(kTensorRows);
  std::iota(ids.begin(), ids.end(), 0);
  float value = 0;
  daemon.StopThread("pushes 0", [&] {
    Tensor rows = Tensor::Empty(DType::kFloat32, {kTensorRows, kTensorColumns});
    std::ranges::fill(rows.as<float>(), ++value);
    tensor.Write(ids, rows);
  });
  const Tensor rows = tensor.Read(ids);
  EXPECT_TRUE(std::ranges::all_of(rows.as<float>(), [&](float each) { return each == value; }));
}

TEST(Hang, TheWatchdogIsNotNotifiedWhileAThreadThatComputesOrServesConnectionsHangs) {
  WatchedDaemon daemon(
      HomogeneousGraph(kTensorRows, RandomMultigraph(kTensorRows, 20 * kTensorRows, 1)));
  const DistGraph trainer = DistGraph(Initialize(daemon.served().TrainerOptions(Transport::kTcp)));
  std::vector<int64_t> seeds(kTensorRows);
  std::iota(seeds.begin(), seeds.end(), 0);
  size_t edges = 0;
  const auto sample = [&] {
    edges += SampleNeighbors(trainer, seeds, {.fanout = -1}).neighbors.size();
  };
  daemon.StopThread("compute 0", sample);
  daemon.StopThread("data 0", sample);
  EXPECT_GT(edges, 0);
}

TEST(Hang, TheStatusIsToldByAThreadOfItsOwn) {
  ServedGraphFixture served(HomogeneousGraph(kTensorRows, {{0, 1}}), {{0}}, 1,
                            {"--num_servers", "1", "--data_threads", "1"});
  const pid_t daemon = served.daemon(0).pid();
  const auto status = [&] {
    return ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(30))->Status();
  };
  {
    StoppedThread compute(daemon, "compute 0", StoppedThread::kIdle);
    EXPECT_EQ(status().pid, daemon);
    compute.GoOn();
  }
  StoppedThread thread(daemon, "status 0", StoppedThread::kIdle);
  const auto client = std::make_unique<RawClient>(served.socket_path(0), "job");
  const auto ask = [&] {
    auto request = client->daemon().statusRequest();
    WriteHello(request.initHello());
    return request.send().ignoreResult();
  };
  // The daemon reads the calls of a connection in their order. The thread of connections serves
  // others while the status waits.
  bool is_told = false;
  std::vector<kj::Promise<void>> asked;
  asked.push_back(ask().then([&is_told] { is_told = true; }).eagerlyEvaluate(nullptr));
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(500);
  while (Clock::now() < end) {
    client->Wait(client->session().listTensorsRequest().send().ignoreResult());
  }
  EXPECT_FALSE(is_told);
  // A sign of life does not wait for it.
  client->Wait(client->daemon().pingRequest().send().ignoreResult());
  EXPECT_FALSE(is_told);
  // A client has only a few calls that wait for it.
  for (int i = 0; i < 8; i++) asked.push_back(ask());
  try {
    client->Wait(kj::mv(asked.back()));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
  }
  asked.pop_back();
  thread.GoOn();
  for (auto& each : asked) client->Wait(kj::mv(each));
  EXPECT_TRUE(is_told);
}

TEST(Hang, AStopGivesRequestsUpThatDoNotEnd) {
  ServedGraphFixture served(
      HomogeneousGraph(kTensorRows, RandomMultigraph(kTensorRows, 20 * kTensorRows, 1)), {{0}}, 1,
      {"--num_servers", "1"});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.timeout = std::chrono::seconds(10);
  std::vector<int64_t> seeds(kTensorRows);
  std::iota(seeds.begin(), seeds.end(), 0);
  std::thread trainer([&] {
    try {
      const DistGraph graph = DistGraph(Initialize(options));
      for (;;) SampleNeighbors(graph, seeds, {.fanout = -1});
    } catch (const Error&) {  // the daemon has ended
    }
  });
  StoppedThread thread(served.daemon(0).pid(), "compute 0", StoppedThread::kInOwnCode);
  const Clock::time_point begin = Clock::now();
  served.daemon(0).Signal(SIGTERM);
  thread.AwaitEnd();
  EXPECT_EQ(served.daemon(0).Wait(), 0) << served.daemon(0).Log();
  EXPECT_GE(SecondsSince(begin), 5);
  EXPECT_THAT(served.daemon(0).Log(), HasSubstr("requests are given up that have not ended"));
  trainer.join();
}

}  // namespace
}  // namespace graphd::testing
