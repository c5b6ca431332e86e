// SPDX-License-Identifier: Apache-2.0
// Tests that a gate loses no place, whenever its calls are dropped.
#include "client/link/call_gate.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/vector.h>

namespace graphd::testing {
namespace {

class Gate : public ::testing::Test {
 public:
  ~Gate() noexcept override = default;

 protected:
  static constexpr size_t kPlaces = 4;

  static kj::Promise<void> Never() { return kj::NEVER_DONE; }
  // Lets the event loop run until nothing is left to do.
  void Settle() { io_.waitScope.poll(); }
  // Returns how many of kPlaces + 1 new calls begin.
  size_t FreePlaces() {
    size_t began = 0;
    kj::Vector<kj::Promise<void>> calls;
    for (size_t i = 0; i <= kPlaces; i++) {
      calls.add(gate_
                    ->Run([&] {
                      began++;
                      return Never();
                    })
                    .eagerlyEvaluate(nullptr));
    }
    Settle();
    return began;
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  const std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>(kPlaces);
};

TEST_F(Gate, LetsAsManyCallsRunAsItHasPlaces) {
  EXPECT_EQ(FreePlaces(), kPlaces);
  EXPECT_EQ(FreePlaces(), kPlaces) << "the calls that were dropped have left";
}

TEST_F(Gate, ACallThatIsDroppedBeforeItBeginsLeavesItsPlace) {
  for (size_t i = 0; i < kPlaces; i++) gate_->Run(Never);
  EXPECT_EQ(FreePlaces(), kPlaces);
}

TEST_F(Gate, ACallThatIsDroppedWhenItsTurnComesLeavesItsPlace) {
  kj::Vector<kj::Promise<void>> run, wait;
  for (size_t i = 0; i < kPlaces; i++) run.add(gate_->Run(Never).eagerlyEvaluate(nullptr));
  for (size_t i = 0; i < kPlaces; i++) wait.add(gate_->Run(Never).eagerlyEvaluate(nullptr));
  Settle();
  run.clear();
  wait.clear();
  EXPECT_EQ(FreePlaces(), kPlaces);
}

TEST_F(Gate, ACallThatEndsLetsTheNextOneBegin) {
  auto pair = kj::newPromiseAndFulfiller<void>();
  kj::Vector<kj::Promise<void>> calls;
  calls.add(gate_->Run([&] { return kj::mv(pair.promise); }).eagerlyEvaluate(nullptr));
  for (size_t i = 1; i < kPlaces; i++) calls.add(gate_->Run(Never).eagerlyEvaluate(nullptr));
  bool began = false;
  calls.add(gate_
                ->Run([&] {
                  began = true;
                  return Never();
                })
                .eagerlyEvaluate(nullptr));
  Settle();
  EXPECT_FALSE(began);
  pair.fulfiller->fulfill();
  Settle();
  EXPECT_TRUE(began);
}

}  // namespace
}  // namespace graphd::testing
