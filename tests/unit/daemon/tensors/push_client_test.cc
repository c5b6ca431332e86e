// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/push_client.h"

#include <gtest/gtest.h>

#include <set>

namespace graphd {
namespace {

TEST(PushClient, IdsDifferByJobTableClientAndKind) {
  const store::ClientId client{1, 2};
  const std::set<store::ClientId> ids = {
      PushClients("a").OfPushes(1, client), PushClients("b").OfPushes(1, client),
      PushClients("a").OfPushes(2, client), PushClients("a").OfPushes(1, {1, 3}),
      PushClients("a").OfPushes(1, {2, 2}), PushClients("").OfPushes(1, client),
      PushClients("a").OfSteps(1),          PushClients("b").OfSteps(1),
      PushClients("a").OfPushes(1, {0, 0}),
  };
  EXPECT_EQ(ids.size(), 9U);
  EXPECT_EQ(PushClients("a").OfPushes(1, client), PushClients("a").OfPushes(1, client));
}

// A job that names the id of another job's steps as its own does not get it.
TEST(PushClient, AnIdThatAJobChoosesIsNeverThatOfAnotherJob) {
  const store::ClientId victim = PushClients("victim").OfSteps(1);
  EXPECT_NE(PushClients("attacker").OfPushes(1, victim), victim);
  EXPECT_NE(PushClients("victim").OfPushes(1, victim), victim);
}

// The store tells the clients of a job from those of others by the first half.
TEST(PushClient, TheFirstHalfOfAnIdIsThatOfTheJob) {
  const uint64_t half = PushClients("a").OfSteps(1).high;
  EXPECT_EQ(PushClients("a").OfSteps(2).high, half);
  EXPECT_EQ(PushClients("a").OfPushes(1, {1, 2}).high, half);
  EXPECT_NE(PushClients("b").OfSteps(1).high, half);
}

}  // namespace
}  // namespace graphd
