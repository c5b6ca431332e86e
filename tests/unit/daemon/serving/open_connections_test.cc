// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/open_connections.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace graphd {
namespace {

class OpenConnectionsTest : public ::testing::Test {
 protected:
  using Made = std::vector<std::shared_ptr<OpenConnection>>;
  Made Add(const std::string& source, size_t count) {
    Made made;
    for (size_t i = 0; i < count; i++) made.push_back(open_.Add(source, 0));
    return made;
  }

  OpenConnections open_;
};

TEST_F(OpenConnectionsTest, TheOldestOfTheLargestSourceGivesWay) {
  const auto few = Add("uid 1", 2), many = Add("uid 2", 10);
  EXPECT_EQ(open_.MakeRoomFor("uid 3"), many[0]);
  EXPECT_EQ(open_.MakeRoomFor("uid 1"), many[1]);
  EXPECT_TRUE(many[0]->gives_way());
  EXPECT_EQ(open_.giving_way(), 2u);
  open_.Remove(many[0]);
  EXPECT_EQ(open_.giving_way(), 1u);
}

TEST_F(OpenConnectionsTest, ASourceGetsNoRoomFromOneThatWouldHaveLess) {
  const auto first = Add("uid 1", 4), second = Add("uid 2", 5);
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), nullptr);
  EXPECT_EQ(open_.MakeRoomFor("uid 1"), nullptr);
  EXPECT_EQ(open_.MakeRoomFor("uid 3"), second[0]);
  EXPECT_EQ(open_.MakeRoomFor("uid 3"), first[0]);
  EXPECT_EQ(open_.MakeRoomFor("uid 1"), nullptr);
}

TEST_F(OpenConnectionsTest, ConnectionsWhoseClientsHaveARightStay) {
  const auto many = Add("uid 1", 5);
  for (int times = 0; times < 2; times++) {
    for (size_t i = 0; i < 3; i++) EXPECT_TRUE(many[i]->Stay());
  }
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), many[3]);
  EXPECT_FALSE(many[3]->Stay()) << "it gives way";
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), nullptr) << "one is left";
  many[4]->Stay();
  for (const auto& each : many) open_.Remove(each);
  EXPECT_EQ(open_.giving_way(), 0u);
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), nullptr);
}

TEST_F(OpenConnectionsTest, ConnectionsThatAreClosedDoNotCount) {
  const auto closed = Add("uid 1", 5), others = Add("uid 2", 3);
  for (const auto& each : closed) open_.Remove(each);
  EXPECT_EQ(open_.MakeRoomFor("uid 3"), others[0]);
}

TEST_F(OpenConnectionsTest, OnlySomeGiveWayAtTheSameTime) {
  constexpr size_t kMost = OpenConnections::kMostGivingWay;
  const auto many = Add("uid 1", 2 * kMost);
  for (size_t i = 0; i < kMost; i++) EXPECT_EQ(open_.MakeRoomFor("uid 2"), many[i]);
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), nullptr);
  open_.Remove(many[7]);
  EXPECT_EQ(open_.MakeRoomFor("uid 2"), many[kMost]);
}

}  // namespace
}  // namespace graphd
