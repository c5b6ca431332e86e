// SPDX-License-Identifier: Apache-2.0
#include "ctl/slurm/own_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

TEST(LookUpAddress, OfAnInterfaceIsThatOneAlone) {
  for (const std::string& each : OwnAddresses()) {
    EXPECT_THAT(LookUpAddress(each), ::testing::Each(each));
    EXPECT_FALSE(LookUpAddress(each).empty());
  }
}

TEST(LookUpAddress, OfLoopbackIsThisMachines) {
  EXPECT_EQ(LookUpAddress("127.0.0.1"), OwnAddresses());
}

TEST(LookUpAddress, OfAnotherMachineIsItself) {
  EXPECT_THAT(LookUpAddress("192.0.2.7"), ::testing::ElementsAre("192.0.2.7"));
  EXPECT_TRUE(LookUpAddress("no.such.host.invalid").empty());
}

}  // namespace
}  // namespace graphd::ctl
