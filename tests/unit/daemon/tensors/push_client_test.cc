// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/push_client.h"

#include <gtest/gtest.h>

#include <set>

namespace graphd {
namespace {

TEST(PushClient, IdsDifferByJobTableClientAndKind) {
  const store::ClientId client{1, 2};
  const std::set<store::ClientId> ids = {
      ClientOfPushes("a", 1, client), ClientOfPushes("b", 1, client),
      ClientOfPushes("a", 2, client), ClientOfPushes("a", 1, {1, 3}),
      ClientOfPushes("a", 1, {2, 2}), ClientOfPushes("", 1, client),
      ClientOfSteps("a", 1),          ClientOfSteps("b", 1),
      ClientOfPushes("a", 1, {0, 0}),
  };
  EXPECT_EQ(ids.size(), 9U);
  EXPECT_EQ(ClientOfPushes("a", 1, client), ClientOfPushes("a", 1, client));
}

// A job that names the id of another job's steps as its own does not get it.
TEST(PushClient, AnIdThatAJobChoosesIsNeverThatOfAnotherJob) {
  const store::ClientId victim = ClientOfSteps("victim", 1);
  EXPECT_NE(ClientOfPushes("attacker", 1, victim), victim);
  EXPECT_NE(ClientOfPushes("victim", 1, victim), victim);
}

// The store tells the clients of a job from those of others by the first half.
TEST(PushClient, TheFirstHalfOfAnIdIsThatOfTheJob) {
  const uint64_t half = ClientOfSteps("a", 1).high;
  EXPECT_EQ(ClientOfSteps("a", 2).high, half);
  EXPECT_EQ(ClientOfPushes("a", 1, {1, 2}).high, half);
  EXPECT_NE(ClientOfSteps("b", 1).high, half);
}

}  // namespace
}  // namespace graphd
