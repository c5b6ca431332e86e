// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/peer.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

std::string SourceOf(const std::string& text) {
  Peer peer;
  peer.text = text;
  return peer.Source();
}

TEST(Peer, HasTheSameSourceAsOthersOfItsMachine) {
  EXPECT_EQ(SourceOf("10.0.0.1:30050"), "10.0.0.1");
  EXPECT_EQ(SourceOf("10.0.0.1:4711"), "10.0.0.1");
  EXPECT_EQ(SourceOf("[::ffff:10.0.0.1]:4711"), "[::ffff:10.0.0.1]");
  EXPECT_EQ(SourceOf("[2001:db8:1:2:3:4:5:6]:4711"), "2001:db8:1:2::/64");
  EXPECT_EQ(SourceOf("[2001:db8:1:2::7]:4711"), "2001:db8:1:2::/64");
  EXPECT_EQ(SourceOf("[fe80::1%eth0]:4711"), "[fe80::1%eth0]");
  for (const char* loopback : {"127.0.0.1:1", "127.1.2.3:4", "[::ffff:127.0.0.1]:1", "[::1]:1"}) {
    EXPECT_EQ(SourceOf(loopback), "this machine");
  }
}

TEST(Peer, IsKnownByItsCertificateOrUserFirst) {
  Peer peer;
  peer.text = "127.0.0.1:30050";
  peer.uid = 1000;
  EXPECT_EQ(peer.Source(), "uid 1000");
  peer.certificate = "alice";
  EXPECT_EQ(peer.Source(), "cert alice");
}

}  // namespace
}  // namespace graphd
