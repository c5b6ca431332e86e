// SPDX-License-Identifier: Apache-2.0
#include "wire/ip_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;

TEST(IpConfig, LinesHaveAnAddressAndOptionallyPortAndTrainers) {
  const auto hosts = ParseIpConfig("# two machines\n10.0.0.1\n\n  10.0.0.2\t31000  0\r\n", "f");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].port, kDefaultPort);
  EXPECT_FALSE(hosts[0].num_trainers);
  EXPECT_EQ(hosts[1].address, "10.0.0.2");
  EXPECT_EQ(hosts[1].port, 31000);
  EXPECT_EQ(hosts[1].num_trainers, 0);
  EXPECT_EQ(hosts[1].part, 1);
}

TEST(IpConfig, ErrorsNameFileLineAndValue) {
  for (const char* text : {"a b", "a 0", "a 65536", "a 1 -1", "a 1 2 3", "", "# only words"}) {
    try {
      ParseIpConfig(std::string("\n") + text, "hosts.txt");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_THAT(error.what(), HasSubstr("hosts.txt"));
      EXPECT_EQ(text[0] == 'a', std::string(error.what()).find("line 2") != std::string::npos);
    }
  }
}

TEST(IpConfig, LinesWithTheSameAddressAndPortAreOneDaemon) {
  const auto daemons = DaemonsOf(ParseIpConfig("a 1\nb 1\na 1\na 2\n", "f"));
  ASSERT_EQ(daemons.size(), 3u);
  EXPECT_EQ(daemons[0].parts, (std::vector<PartId>{0, 2}));
  EXPECT_EQ(daemons[2].parts, (std::vector<PartId>{3}));
}

TEST(IpConfig, KnowsThisMachine) {
  EXPECT_TRUE(IsLocalAddress("127.0.0.1"));
  EXPECT_TRUE(IsLocalAddress("::1"));
  EXPECT_TRUE(IsLocalAddress("localhost"));
  EXPECT_FALSE(IsLocalAddress("192.0.2.1"));  // TEST-NET-1
}

TEST(IpConfig, HostAndPortRoundTrip) {
  EXPECT_EQ(ParseHostPort("[::1]:5"), std::make_pair(std::string("::1"), uint16_t{5}));
  EXPECT_EQ(HostPort("::1", 5), "[::1]:5");
  EXPECT_EQ(ParseHostPort("host").second, kDefaultPort);
  EXPECT_THROW(ParseHostPort(":5"), Error);
  EXPECT_THROW(ParseHostPort("host:x"), Error);
  EXPECT_THROW(ParseHostPort("[::1:5"), Error);
}

TEST(ServerName, OtherServersOfTheRuntimeDirectoryAreNamed) {
  const ScratchDirectory scratch;
  const std::string run = scratch / "run", socket = SocketPath(run, "wrong", 30050);
  EXPECT_EQ(OtherSocketsHint(socket), "");
  MakeDirectories(run + "/wrong");
  for (const char* name : {"second", "first"}) {
    MakeDirectories(StrCat(run, "/", name));
    WriteFileAtomically(SocketPath(run, name, 30050), "");
  }
  MakeDirectories(run + "/empty");
  WriteFileAtomically(run + "/file.sock", "");
  EXPECT_EQ(OtherSocketsHint(socket), StrCat("; the server's name may be mistyped: in ", run,
                                             " there are sockets of 'first', 'second'"));
  for (int i = 10; i < 20; i++) {
    MakeDirectories(StrCat(run, "/a", i));
    WriteFileAtomically(SocketPath(run, StrCat("a", i), 1), "");
  }
  EXPECT_THAT(OtherSocketsHint(socket), ::testing::EndsWith("'a18', 'a19', ..."));
}

TEST(ServerName, IsUnknownIfOnlyOthersHaveDirectoriesAndSockets) {
  const ScratchDirectory scratch;
  const std::string run = scratch / "run", socket = SocketPath(run, "wrong", 30050);
  EXPECT_FALSE(IsUnknownServer(socket));
  MakeDirectories(run + "/other");
  EXPECT_FALSE(IsUnknownServer(socket));
  WriteFileAtomically(run + "/other/1.sock", "");
  EXPECT_TRUE(IsUnknownServer(socket));
  MakeDirectories(run + "/wrong");  // it is being started
  EXPECT_FALSE(IsUnknownServer(socket));
}

TEST(ServerName, OnlyFilesThatAreNamedByAPortAreSockets) {
  EXPECT_EQ(PortOfSocketName("30050.sock"), 30050);
  for (const char* other : {"x.sock", ".sock", "30050", "30050.log", "030050.sock", "70000.sock",
                            "-1.sock", "30050.sock.old", "30050 .sock"}) {
    EXPECT_EQ(PortOfSocketName(other), std::nullopt) << other;
  }
}

TEST(ServerName, OtherPortsOfTheServerAreNamedFirst) {
  const ScratchDirectory scratch;
  for (const char* name : {"other", "mine"}) MakeDirectories(scratch / "run/" + name);
  for (const char* file :
       {"other/1.sock", "mine/31150.sock", "mine/9000.sock", "mine/31150.log", "mine/x.sock"}) {
    WriteFileAtomically(scratch / "run/" + file, "");
  }
  EXPECT_EQ(OtherSocketsHint(SocketPath(scratch / "run", "mine", 30050)),
            "; this server has sockets of ports 9000, 31150, which the ip_config file should name");
}

TEST(ServerName, HasOnlyCharactersThatPathsMayHave) {
  EXPECT_NO_THROW(CheckServerName("ogb-product_1.2"));
  for (const char* name : {"", ".", "..", "a/b", "-x", "a b", "a\n"}) {
    EXPECT_THROW(CheckServerName(name), Error) << name;
  }
  EXPECT_THROW(CheckServerName(std::string(65, 'a')), Error);
}

}  // namespace
}  // namespace graphd
