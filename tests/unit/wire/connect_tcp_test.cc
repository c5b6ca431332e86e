// SPDX-License-Identifier: Apache-2.0
// Tests of ConnectTcp while keys are rotated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tests/unit/tls/test_keys.h"
#include "tls/tls_stream.h"
#include "wire/connection.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Credentials = std::shared_ptr<const TlsCredentials>;

// A server that has one client after another, and then ends. Each function is called when its
// client has read its keys and sent its first message, and returns the keys that the client meets.
class Server {
 public:
  explicit Server(std::vector<std::function<Credentials()>> clients)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), 8) != 0 ||
        ::getsockname(listener_.get(), any, &size) != 0) {
      ThrowErrno("can't listen on", "127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, clients = std::move(clients)] {
      for (const auto& credentials : clients) Serve(credentials);
    });
  }
  ~Server() { thread_.join(); }
  uint16_t port() const { return port_; }

 private:
  void Serve(const std::function<Credentials()>& credentials) const {
    auto io = kj::setupAsyncIo();
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    pollfd hello{fd, POLLIN, 0};
    ::poll(&hello, 1, 20'000);
    try {
      AcceptTls(
          WrapSocket(*io.lowLevelProvider, UniqueFd(fd), false), credentials(), "the client",
          io.provider->getTimer(),
          {[](kj::AsyncIoStream&, const Error&) -> kj::Promise<void> { return kj::READY_NOW; }})
          .wait(io.waitScope);
    } catch (const kj::Exception&) {
      // The handshake has failed, because the client or the server has refused the other's key.
    }
  }

  const UniqueFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

class ConnectWhileKeysAreRotated : public ::testing::Test {
 protected:
  void RevokeServer() {
    RevokedList list;
    const Certificate old =
        Certificate::FromPem(keys_.Directory("server").Read("server.pem"), "server.pem");
    list.Add(old.serial(), old.name());
    keys_.Directory("trainer").Write("revoked", list.ToText());
  }
  ClientSocket Connect(const Server& server) {
    return ConnectTcp("127.0.0.1", server.port(), 20'000, &client_);
  }

  TestKeys keys_{"hubs"};
  TlsKeys client_{keys_.Directory("trainer"), "hubs", TlsSide::kClient};
};

TEST_F(ConnectWhileKeysAreRotated, AServerThatShowsItsOldKeyIsAskedAgain) {
  const Credentials old = keys_.Server();
  RevokeServer();
  keys_.AddServer("server");
  const Server server({[&] { return old; }, [&] { return keys_.Server(); }});
  EXPECT_NE(Connect(server).tls, nullptr);
}

TEST_F(ConnectWhileKeysAreRotated, AConnectionEndsWhenThePeersMachineHasVanished) {
  const Server server({[&] { return keys_.Server(); }});
  const ClientSocket socket = Connect(server);
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(socket.fd.get(), level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 15);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
}

TEST_F(ConnectWhileKeysAreRotated, AServerWhoseKeyStaysRevokedIsRefused) {
  const Credentials old = keys_.Server();
  RevokeServer();
  const Server server({[&] { return old; }, [&] { return old; }});
  try {
    Connect(server);
    FAIL() << "a revoked key was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(error.what(), HasSubstr("is revoked"));
  }
}

TEST_F(ConnectWhileKeysAreRotated, AClientThatIsRefusedReadsItsKeysAgain) {
  keys_.Revoke("server", "trainer");
  const Server server({[&] {
                         keys_.AddClient("trainer");
                         return keys_.Server();
                       },
                       [&] { return keys_.Server(); }});
  EXPECT_NE(Connect(server).tls, nullptr);
}

}  // namespace
}  // namespace graphd::testing
