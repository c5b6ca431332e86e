// SPDX-License-Identifier: Apache-2.0
// Tests of the check that only trusted users serve the clients of this machine.
#include "wire/trusted_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/directory.h"
#include "base/strings.h"
#include "tests/support/become_user.h"
#include "tests/unit/format/scratch_directory.h"
#include "wire/connection.h"

namespace graphd {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using testing::kNobody;

// A folder with a socket, which everyone can reach. The test is run as root.
class TrustedUsers : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
    ::unsetenv("GRAPHD_SERVER_USER");
    MakeDirectories(folder_);
    ASSERT_EQ(::chmod(scratch_.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  }
  void TearDown() override { ::unsetenv("GRAPHD_SERVER_USER"); }

  // Makes a user listen on the socket. The kernel remembers the user of the thread that listens.
  void ListenAs(uid_t user) {
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = UnixAddress(socket_);
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    std::thread([&] {
      ASSERT_TRUE(testing::BecomeUser(user));
      ASSERT_EQ(::listen(listener_.get(), 8), 0);
    }).join();
  }
  std::string ConnectError() const {
    try {
      ConnectUnix(socket_, 5000);
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
    return "no error";
  }

  const ScratchDirectory scratch_;
  const std::string folder_ = scratch_ / "run", socket_ = folder_ + "/30050.sock";
  UniqueFd listener_;
};

TEST_F(TrustedUsers, RootMayServe) {
  ListenAs(0);
  EXPECT_EQ(ConnectError(), "no error");
}

TEST_F(TrustedUsers, AnotherUserMayServeOnlyIfTheClientTrustsThatUser) {
  ListenAs(kNobody);
  EXPECT_THAT(ConnectError(),
              AllOf(StartsWith("denied: the graphd at " + socket_), HasSubstr("user 65534"),
                    HasSubstr("GRAPHD_SERVER_USER=65534")));
  ::setenv("GRAPHD_SERVER_USER", "daemon", 1);
  EXPECT_THAT(ConnectError(), StartsWith("denied: "));
  for (const char* trusted : {"nobody", "65534"}) {
    ::setenv("GRAPHD_SERVER_USER", trusted, 1);
    EXPECT_EQ(ConnectError(), "no error") << trusted;
  }
}

TEST_F(TrustedUsers, TheDirectoryOfAnotherUserIsRefused) {
  ListenAs(0);
  ASSERT_EQ(::chown(folder_.c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(ConnectError(),
              AllOf(StartsWith(StrCat("denied: the directory ", folder_, " belongs to user 65534")),
                    HasSubstr("GRAPHD_SERVER_USER=65534")));
  ::setenv("GRAPHD_SERVER_USER", "nobody", 1);
  EXPECT_EQ(ConnectError(), "no error");
}

TEST_F(TrustedUsers, ADirectoryInWhichEveryUserMayReplaceSocketsIsRefused) {
  ListenAs(0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_THAT(ConnectError(), AllOf(StartsWith("denied: "), HasSubstr("chmod o-w " + folder_)));
  // In a directory like /tmp, only the owner of a socket can replace it.
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_EQ(ConnectError(), "no error");
}

}  // namespace
}  // namespace graphd
