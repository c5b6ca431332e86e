// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/local_tcp_user.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace graphd {
namespace {

constexpr uid_t kNobody = 65534;

// A listening socket on a loopback address.
struct Loopback {
  explicit Loopback(int family) : fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET6) {
      reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
    } else {
      reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    socklen_t length = sizeof address;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &length);
  }
  UniqueFd Connect() const {
    UniqueFd client(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    return client;
  }
  UniqueFd Accept() const { return UniqueFd(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

  sockaddr_storage address{};
  UniqueFd fd;
};

TEST(LocalTcpUser, IsTheUserOfThisProcess) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Loopback loopback(family);
    const UniqueFd client = loopback.Connect(), accepted = loopback.Accept();
    EXPECT_EQ(LocalTcpUser(accepted.get()), std::optional<uid_t>(::geteuid()));
  }
}

TEST(LocalTcpUser, IsTheUserOfAnotherProcess) {
  ASSERT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
  const Loopback loopback(AF_INET);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(kNobody) != 0) ::_exit(1);
    const UniqueFd client = loopback.Connect();
    char byte;
    ::_exit(::read(client.get(), &byte, 1) < 0 ? 1 : 0);  // until the test has looked
  }
  UniqueFd accepted = loopback.Accept();
  EXPECT_EQ(LocalTcpUser(accepted.get()), std::optional<uid_t>(kNobody));
  accepted.reset();
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// The kernel reports a closed socket with user 0, which must not make anybody root.
TEST(LocalTcpUser, IsUnknownOnceThePeerHasClosed) {
  const Loopback loopback(AF_INET);
  UniqueFd client = loopback.Connect();
  const UniqueFd accepted = loopback.Accept();
  client.reset();
  EXPECT_EQ(LocalTcpUser(accepted.get()), std::nullopt);
}

}  // namespace
}  // namespace graphd
