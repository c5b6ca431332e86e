// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/listening_address.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <optional>
#include <string>

#include "base/file.h"
#include "daemon/serving/listener.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"
#include "wire/connection.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string WhyNot(int fd) {
  try {
    return "it listens on " + ListeningAddress::Of(fd).text();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.what();
  }
}

TEST(ListeningAddress, IsTheAddressOfAListener) {
  const Listener four = Listener::BindTcp("127.0.0.1", 0, false);
  const ListeningAddress address = ListeningAddress::Of(four.fd());
  EXPECT_FALSE(address.is_unix);
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, four.port());
  const ScratchDirectory scratch;
  const std::string path = scratch / "run/s";
  const Listener local = Listener::BindUnix(path, 0600);
  EXPECT_TRUE(ListeningAddress::Of(local.fd()).is_unix);
  EXPECT_EQ(ListeningAddress::Of(local.fd()).text(), path);
}

TEST(ListeningAddress, OfTheLongestPathIsWhole) {
  const ScratchDirectory scratch;
  std::string path = scratch / "";
  path.append(sizeof sockaddr_un::sun_path - 1 - path.size(), 'x');
  const Listener local = Listener::BindUnix(path, 0600);
  EXPECT_EQ(ListeningAddress::Of(local.fd()).text(), path);
}

TEST(ListeningAddress, OfVersionSixIsInBrackets) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(30050);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_EQ(ListeningAddress::Of(generic, sizeof address).text(), "[::1]:30050");
  EXPECT_TRUE(IsLoopback(generic));
}

TEST(ListeningAddress, PortZeroIncludesAllPorts) {
  const ListeningAddress any{false, "127.0.0.1", 0}, one{false, "127.0.0.1", 30050};
  EXPECT_TRUE(any.Includes(one));
  EXPECT_TRUE(one.Includes(one));
  EXPECT_FALSE(one.Includes(any));
  EXPECT_FALSE(any.Includes({false, "10.0.0.1", 30050}));
  EXPECT_FALSE(any.Includes({true, "127.0.0.1", 0}));
}

TEST(ListeningAddress, OtherDescriptorsHaveNone) {
  const UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM, 0));
  EXPECT_THAT(WhyNot(datagrams.get()), HasSubstr("neither a Unix stream socket"));
  const UniqueFd file = OpenFile("/dev/null", 0);
  EXPECT_THAT(WhyNot(file.get()), HasSubstr("neither a Unix stream socket"));
  EXPECT_THAT(WhyNot(-1), HasSubstr("neither a Unix stream socket"));
  const UniqueFd deaf(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_THAT(WhyNot(deaf.get()), HasSubstr("does not listen"));
}

TEST(ListeningAddress, OfANameThatIsNoPathBeginsWithAnAtSign) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The kernel chooses a name.
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family), 0);
  ASSERT_EQ(::listen(fd.get(), 1), 0);
  EXPECT_THAT(ListeningAddress::Of(fd.get()).text(), StartsWith("@"));
}

TEST(Listener, ThatWasAdoptedLeavesItsFileUnlessItTakesIt) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "s";
  for (const bool take : {false, true}) {
    std::optional<Listener> first = Listener::BindUnix(path, 0600);
    first->LeaveFile();
    UniqueFd passed(::dup(first->fd()));
    first.reset();
    EXPECT_TRUE(FileExists(path));
    {
      Listener second = Listener::Adopt(std::move(passed));
      EXPECT_EQ(second.text(), path);
      if (take) second.TakeFile();
      EXPECT_TRUE(ConnectUnix(path, 1000));
    }
    EXPECT_EQ(FileExists(path), !take);
  }
}

TEST(Listener, ChangesTheModeOfASocketFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "s";
  const Listener local = Listener::BindUnix(path, 0660);
  const auto mode = [&] {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  EXPECT_EQ(mode(), 0660u);
  Listener::SetMode(path, 0666);
  EXPECT_EQ(mode(), 0666u);
  Listener::SetMode(scratch / "missing", 0666);  // is logged only
}

}  // namespace
}  // namespace graphd::testing
