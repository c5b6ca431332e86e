// SPDX-License-Identifier: Apache-2.0
// Tests of what a job that holds pushes can do to another job of a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/failure.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "daemon/requests/call_limit.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PacedHolds : public ::testing::Test {
 protected:
  DistTensor MakeTensor() const {
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kUnix)));
    TensorSpec spec;
    spec.name = "sums";
    spec.persistent = true;
    return DistTensor::Create(graph, spec);
  }
  static double SecondsToAddOne(const DistTensor& tensor) {
    const auto start = Clock::now();
    Tensor one = Tensor::Empty(DType::kFloat32, {1});
    one.as<float>()[0] = 1;
    tensor.Add(std::vector<int64_t>{0}, one);
    return SecondsSince(start);
  }
  static wire::Making::Client Prepare(RawClient& client, const std::string& name) {
    auto service = client.session().checkpointsRequest().send().getService();
    auto prepare = service.prepareRequest();
    prepare.setName(name);
    prepare.setId(name);
    return client.Wait(prepare.send().then([](auto&& answer) { return answer.getMaking(); }));
  }
  // Begins a checkpoint and holds pushes. The hold ends with the object that is returned.
  static wire::Making::Client Hold(RawClient& client, const std::string& name) {
    wire::Making::Client making = Prepare(client, name);
    client.Wait(making.holdRequest().send().ignoreResult());
    return making;
  }

  const ServedGraphFixture served_{
      HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), {{0}}, 1};
};

TEST_F(PacedHolds, AHoldThatNeverEndsDelaysAnotherJobForFiveSeconds) {
  const DistTensor tensor = MakeTensor();
  SecondsToAddOne(tensor);
  std::promise<void> held, added;
  std::string error = "no error";
  std::thread holder([&] {
    RawClient client(served_.socket_path(0), "holder");
    auto making = Hold(client, "endless");
    held.set_value();
    added.get_future().wait();
    try {
      client.Wait(making.takeRequest().send().ignoreResult());
    } catch (const Error& caught) {
      error = StrCat(ErrorCodeName(caught.code()), ": ", caught.what());
    }
    Hold(client, "later");
  });
  held.get_future().get();
  EXPECT_LT(SecondsToAddOne(tensor), 15);  // five, and an allowance for a machine under load
  EXPECT_LT(SecondsToAddOne(tensor), 3) << "pushes continue";
  added.set_value();
  // The job's next hold waits twice as long, which operators are shown.
  bool seen = false;
  LogFailure("looking at requests", [&] {
    const auto control =
        ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(20));
    for (const auto start = Clock::now(); !seen && SecondsSince(start) < 20; ::usleep(10'000)) {
      for (const RequestStatus& each : control->Requests(100).requests) {
        if (each.operation == "checkpoint hold" &&
            each.state == "waits until a checkpoint may hold changes again") {
          seen = true;
        }
      }
    }
  });
  holder.join();
  EXPECT_TRUE(seen);
  EXPECT_THAT(error, AllOf(HasSubstr("deadline: pushes waited 5"), HasSubstr("by job holder (unix"),
                           HasSubstr("try again")));
}

TEST_F(PacedHolds, HoldingAgainAndAgainLeavesTimeForPushes) {
  const DistTensor tensor = MakeTensor();
  std::atomic<bool> stop = false;
  std::thread holder([&] {
    RawClient client(served_.socket_path(0), "holder");
    for (int i = 0; !stop; i++) {
      LogFailure("a hold", [&] {
        auto making = Hold(client, StrCat("c", i));
        client.Sleep(std::chrono::milliseconds(500));
      });
    }
  });
  // Half of the time is free of holds: if the loop could hold at once again, each of these would
  // wait for half a second.
  const auto start = Clock::now();
  int added = 0;
  for (; SecondsSince(start) < 8; added++) SecondsToAddOne(tensor);
  stop = true;
  holder.join();
  EXPECT_GT(added, 100);
}

TEST_F(PacedHolds, ThoseThatWaitForTheirTurnCountTowardsTheLimitOfCalls) {
  const DistTensor tensor = MakeTensor();
  RawClient client(served_.socket_path(0), "holder");
  const auto first = Hold(client, "first");
  SecondsToAddOne(tensor);  // waits five seconds, and the job's next hold waits for ten
  auto next = Prepare(client, "next");
  std::vector<kj::Promise<void>> holds;
  for (int i = 0; i <= CallLimit::kMost; i++) {
    holds.push_back(next.holdRequest().send().ignoreResult());
  }
  try {
    client.Wait(kj::mv(holds.back()));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
  }
  // The others still wait. A client of another thread looks, because this one has an event loop.
  std::future<std::ptrdiff_t> waiting = std::async(std::launch::async, [&] {
    const auto requests =
        ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(20))
            ->Requests(1000)
            .requests;
    return std::count_if(requests.begin(), requests.end(), [](const RequestStatus& each) {
      return each.state == "waits until a checkpoint may hold changes again";
    });
  });
  EXPECT_EQ(waiting.get(), CallLimit::kMost);
}

}  // namespace
}  // namespace graphd::testing
