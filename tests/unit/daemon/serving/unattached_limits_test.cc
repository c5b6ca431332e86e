// SPDX-License-Identifier: Apache-2.0
// Tests of what a client that does not attach, or does not read, can make a real daemon keep.
#include <capnp/any.h>
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "tests/support/call_script.h"
#include "tests/support/send_descriptors.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"

namespace graphd::testing {
namespace {

using Daemons = std::vector<std::vector<int>>;

// Writes all bytes, unless the daemon stops reading for a second. Returns whether it did.
bool WriteBytes(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (written > 0) {
      at += static_cast<size_t>(written);
      continue;
    }
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, 1000) == 0) return false;
  }
  return true;
}

class UnattachedLimits : public ::testing::Test {
 protected:
  uint64_t ResidentBytes() {
    std::ifstream statm(StrCat("/proc/", served_.daemon(0).pid(), "/statm"));
    uint64_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  std::ptrdiff_t NumDescriptors() {
    const std::filesystem::directory_iterator open(
        StrCat("/proc/", served_.daemon(0).pid(), "/fd"));
    return std::distance(begin(open), end(open));
  }
  // Waits until the daemon has received everything that was sent.
  static void AwaitReceived(int fd) {
    const auto start = Clock::now();
    int unread = 1;
    while (::ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0 && SecondsSince(start) < 30) {
      ::usleep(10'000);
    }
    EXPECT_EQ(unread, 0);
  }
  UniqueFd Connect() { return ConnectUnix(served_.socket_path(0), 20000); }
  // Returns whether the daemon closes the connection within `seconds`.
  static bool IsClosed(int fd, double seconds) {
    const auto start = Clock::now();
    while (SecondsSince(start) < seconds) {
      char bytes[4096];
      const ssize_t got = ::read(fd, bytes, sizeof bytes);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      pollfd wait{fd, POLLIN, 0};
      ::poll(&wait, 1, 100);
    }
    return false;
  }
  ServedGraphFixture served_{HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), Daemons{{0}},
                             1};
};

TEST_F(UnattachedLimits, ALongMessageBeforeAttachingClosesTheConnection) {
  const UniqueFd fd = Connect();
  const uint32_t head[2] = {0, 400 << 17};  // one segment of 400 MiB
  ASSERT_EQ(::write(fd.get(), head, sizeof head), static_cast<ssize_t>(sizeof head));
  EXPECT_TRUE(IsClosed(fd.get(), 10));
}

// A list of empty elements takes no space in a message, but reading it takes time and memory.
TEST_F(UnattachedLimits, AShortMessageThatClaimsALongListClosesTheConnection) {
  const UniqueFd fd = Connect();
  capnp::MallocMessageBuilder message;
  auto call = message.initRoot<capnp::rpc::Message>().initCall();
  call.setInterfaceId(capnp::typeId<wire::Daemon>());
  capnp::AnyStruct::Builder target = call.initTarget().initPromisedAnswer();
  target.getPointerSection()[0].initAs<capnp::List<capnp::Void>>(100'000'000);
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  ASSERT_TRUE(WriteBytes(fd.get(), {reinterpret_cast<const char*>(bytes.begin()), bytes.size()}));
  EXPECT_TRUE(IsClosed(fd.get(), 10));
}

// No call of a client has descriptors, so a server must not keep any that come with a message.
TEST_F(UnattachedLimits, AMessageWithDescriptorsLeavesNoneInTheDaemon) {
  constexpr int kConnections = 8;
  ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(20))->Status();
  const std::ptrdiff_t before = NumDescriptors();
  std::vector<UniqueFd> connections;
  for (int i = 0; i < kConnections; i++) {
    connections.push_back(Connect());
    const uint32_t head[2] = {0, 16};  // the 16 words do not follow
    SendDescriptors(connections.back().get(), head, sizeof head, STDERR_FILENO, kMaxDescriptors);
    AwaitReceived(connections.back().get());
  }
  EXPECT_LE(NumDescriptors(), before + kConnections);
}

TEST_F(UnattachedLimits, AConnectionWithoutACallIsClosed) {
  const UniqueFd fd = Connect();
  EXPECT_FALSE(IsClosed(fd.get(), 5));
  EXPECT_TRUE(IsClosed(fd.get(), 30));
}

// Asks for the status again and again, and reads no answer.
TEST_F(UnattachedLimits, UnreadAnswersTakeLittleMemory) {
  constexpr uint32_t kCalls = 200'000;
  const uint64_t before = ResidentBytes();
  const UniqueFd fd = Connect();
  CallScript script;
  uint32_t sent = 0;
  for (bool reads = true; reads && sent < kCalls; sent++) {
    script.Status();
    reads = WriteBytes(fd.get(), script.TakeBytes());
  }
  EXPECT_LT(sent, kCalls) << "the daemon never stopped reading";
  EXPECT_LT(ResidentBytes(), before + (uint64_t{32} << 20));
  // Others are served meanwhile.
  ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(20))->Status();
}

}  // namespace
}  // namespace graphd::testing
