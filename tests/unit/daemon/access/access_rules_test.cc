// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "graphd/error.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kStranger = 64001;

Peer UnixPeer(uid_t uid, std::vector<gid_t> gids = {}) {
  return {true, 1, uid, std::move(gids), "unix"};
}

Peer RemotePeer() { return {false, 0, std::nullopt, {}, "10.0.0.1:5"}; }

std::string ErrorOf(const AccessRules::Options& options) {
  try {
    AccessRules rules(options);
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
}

TEST(AccessRules, WithoutOptionsOnlyRootAndTheDaemonsUserHaveARole) {
  const AccessRules rules(AccessRules::Options{});
  EXPECT_EQ(rules.RoleOf(UnixPeer(0)), Role::kOperator);
  EXPECT_EQ(rules.RoleOf(UnixPeer(::geteuid())), Role::kOperator);
  EXPECT_EQ(rules.RoleOf(UnixPeer(kStranger)), Role::kNone);
  EXPECT_EQ(rules.RoleOf(RemotePeer()), Role::kNone);
  EXPECT_FALSE(rules.has_outsiders());
}

TEST(AccessRules, OptionsGiveUsersAndGroupsTheirRoles) {
  AccessRules::Options options;
  options.readers = {"all"};
  options.writers = {"group:64010", "user:64011"};
  options.operators = {"user:64012"};
  const AccessRules rules(options);
  EXPECT_EQ(rules.RoleOf(UnixPeer(kStranger)), Role::kReader);
  EXPECT_EQ(rules.RoleOf(UnixPeer(kStranger, {7, 64010})), Role::kWriter);
  EXPECT_EQ(rules.RoleOf(UnixPeer(64011)), Role::kWriter);
  EXPECT_EQ(rules.RoleOf(UnixPeer(64012)), Role::kOperator);
  EXPECT_EQ(rules.RoleOf(RemotePeer()), Role::kNone) << "'all' are the users of this machine";
  EXPECT_TRUE(rules.has_outsiders());
}

TEST(AccessRules, TheFirstWeightThatFitsCounts) {
  AccessRules::Options options;
  options.weights = {"user:64011=4", "group:64010=0.5", "all=2", "cert:alice=8"};
  const AccessRules rules(options);
  EXPECT_EQ(rules.WeightOf(UnixPeer(64011, {64010})), 4);
  EXPECT_EQ(rules.WeightOf(UnixPeer(kStranger, {64010})), 0.5);
  EXPECT_EQ(rules.WeightOf(UnixPeer(kStranger)), 2);
  EXPECT_EQ(rules.WeightOf(RemotePeer()), 1);
  Peer alice = RemotePeer();
  alice.certificate = "alice";
  EXPECT_EQ(rules.WeightOf(alice), 8);
  EXPECT_EQ(rules.RoleOf(UnixPeer(kStranger)), Role::kNone) << "a weight is not a right";
}

TEST(AccessRules, WeightsThatMakeNoSenseAreRefused) {
  for (const char* entry : {"all", "all=", "all=0", "all=-1", "all=1e9", "all=nan", "all=2x",
                            "alice=2", "user:=2", "=2"}) {
    AccessRules::Options options;
    options.weights = {entry};
    EXPECT_THAT(ErrorOf(options), HasSubstr("--weight")) << entry;
  }
}

TEST(AccessRules, InsecureTrustsTheTcpPortButNotTheSocket) {
  AccessRules::Options options;
  options.insecure = true;
  const AccessRules rules(options);
  EXPECT_EQ(rules.RoleOf(RemotePeer()), Role::kOperator);
  EXPECT_EQ(rules.RoleOf(UnixPeer(kStranger)), Role::kNone);
}

TEST(AccessRules, ClientsWithTheSharedSecretAreJudgedByThatAlone) {
  Peer peer = RemotePeer();
  peer.has_secret = true;
  peer.uid = kStranger;
  AccessRules::Options options;
  EXPECT_EQ(AccessRules(options).RoleOf(peer), Role::kOperator);
  options.readers = {"all"};
  EXPECT_EQ(AccessRules(options).RoleOf(peer), Role::kOperator);
  options.readers = {"all", "secret"};
  options.operators = {"user:64001"};
  EXPECT_EQ(AccessRules(options).RoleOf(peer), Role::kReader);
  options.writers = {"secret"};
  EXPECT_EQ(AccessRules(options).RoleOf(peer), Role::kWriter);
  EXPECT_EQ(AccessRules(options).RoleOf(RemotePeer()), Role::kNone);
}

TEST(AccessRules, AClientWithACertificateIsJudgedByThatAlone) {
  AccessRules::Options options;
  options.readers = {"all", "cert:alice"};
  options.writers = {"cert:bob"};
  options.own_certificate = "owner";
  const AccessRules rules(options);
  Peer peer = RemotePeer();
  peer.uid = 0;
  for (const auto& [name, role] : {std::pair{"alice", Role::kReader},
                                   {"bob", Role::kWriter},
                                   {"owner", Role::kOperator},
                                   {"mallory", Role::kNone},
                                   {"all", Role::kNone}}) {
    peer.certificate = name;
    EXPECT_EQ(rules.RoleOf(peer), role) << name;
  }
  options.readers.clear();
  EXPECT_FALSE(AccessRules(options).has_outsiders()) << "certificates do not use the Unix socket";
}

TEST(AccessRules, NamesAreResolvedAndWrongEntriesAreRefused) {
  EXPECT_EQ(AccessRules({{"user:nobody"}, {}, {}, false}).RoleOf(UnixPeer(65534)), Role::kReader);
  EXPECT_THAT(ErrorOf({{"user:no-such-user"}, {}, {}, false}),
              HasSubstr("--allow_read user:no-such-user: there is no such user"));
  EXPECT_THAT(ErrorOf({{}, {"group:no-such-group"}, {}, false}), HasSubstr("--allow_write"));
  EXPECT_THAT(ErrorOf({{}, {}, {"alice"}, false}),
              HasSubstr("write user:NAME, group:NAME, cert:NAME, secret or all"));
  EXPECT_THAT(ErrorOf({{}, {}, {"user:"}, false}), HasSubstr("user:NAME"));
}

TEST(AccessRules, ErrorsNameTheOptionThatWouldHelp) {
  AccessRules::Options options;
  options.readers = {"user:64001"};
  const AccessRules rules(options);
  EXPECT_NO_THROW(rules.Require(UnixPeer(kStranger), Role::kReader, "read"));
  try {
    rules.Require(UnixPeer(kStranger), Role::kWriter, "make checkpoints");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(error.what(), HasSubstr("may not make checkpoints (role: reader)"));
    EXPECT_THAT(error.what(), HasSubstr("--allow_write user:64001"));
  }
}

}  // namespace
}  // namespace graphd
