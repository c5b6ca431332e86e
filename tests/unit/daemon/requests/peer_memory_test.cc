// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/peer_memory.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(PeerMemory, ConnectionsOfAJobShareTheJobsPart) {
  PeerMemory memory(600);
  const auto first = memory.OfMember("a", "unix"), second = memory.OfMember("a", "unix");
  const auto other = memory.OfMember("b", "unix"), unattached = memory.OfUnattached("unix");
  EXPECT_TRUE(first->TryCharge(200));
  EXPECT_FALSE(first->TryCharge(1));
  EXPECT_TRUE(second->TryCharge(66));  // a third of 600 - 200 - 200
  EXPECT_FALSE(second->TryCharge(1));
  EXPECT_TRUE(other->TryCharge(100));
  EXPECT_TRUE(unattached->TryCharge(50));
  EXPECT_EQ(memory.used(), 416U);
}

TEST(PeerMemory, AJobsAccountEndsWithItsLastConnection) {
  PeerMemory memory(600);
  auto first = memory.OfMember("a", "unix");
  ASSERT_TRUE(first->TryCharge(200));
  first->Release(200);
  first.reset();
  EXPECT_TRUE(memory.OfMember("a", "unix")->TryCharge(200));
}

TEST(PeerMemory, TheDefaultDependsOnTheMachine) {
  EXPECT_EQ(PeerMemory::DefaultLimit(kGiB), kGiB / 2);
  EXPECT_EQ(PeerMemory::DefaultLimit(8 * kGiB), 2 * kGiB);
  EXPECT_EQ(PeerMemory::DefaultLimit(64 * kGiB), 8 * kGiB);
}

}  // namespace
}  // namespace graphd
