// SPDX-License-Identifier: Apache-2.0
// Tests the end of a daemon that has changed rows to write back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/mutex.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

// The service manager's end of sd_notify(3): keeps the lines of all messages. Daemons that start
// while it exists send theirs here.
class ServiceMessages {
 public:
  explicit ServiceMessages(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    reader_ = std::thread([this] { Read(); });
  }
  ~ServiceMessages() {
    ::unsetenv("NOTIFY_SOCKET");
    stop_ = true;
    reader_.join();
  }
  std::vector<std::string> lines() const {
    const MutexLock lock(mutex_);
    return lines_;
  }

 private:
  void Read() {
    while (!stop_) {
      pollfd ready{socket_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      char text[4096];
      alignas(cmsghdr) char control[512];
      iovec io{text, sizeof text};
      msghdr message{};
      message.msg_iov = &io;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
      if (size < 0) continue;
      // A barrier waits until its descriptor is closed.
      for (cmsghdr* each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(each), sizeof fd);
        const UniqueFd closed(fd);
      }
      const MutexLock lock(mutex_);
      for (std::string& line : Split(std::string(text, static_cast<size_t>(size)), '\n')) {
        lines_.push_back(std::move(line));
      }
    }
  }

  UniqueFd socket_;
  mutable Mutex mutex_;
  std::vector<std::string> lines_ GRAPHD_GUARDED_BY(mutex_);
  std::atomic<bool> stop_{false};
  std::thread reader_;
};

constexpr int64_t kRows = 50'000, kColumns = 1024;  // 195 MiB

Tensor Numbered(int64_t begin, int64_t end) {
  Tensor rows = Tensor::Empty(DType::kFloat32, {end - begin, kColumns});
  auto values = rows.as<float>();
  for (size_t i = 0; i < values.size(); i++) {
    values[i] = static_cast<float>(begin) + static_cast<float>(i);
  }
  return rows;
}

TEST(Drain, WritesChangedRowsBackAndReportsHowFarItIs) {
  RawGraph graph = HomogeneousGraph(kRows, {{0, 1}});
  ScratchDirectory scratch;
  const ServiceMessages messages(scratch / "notify");
  ServedGraphFixture served(graph, {{0}}, 1);
  TensorSpec spec;
  spec.name = "rows";
  spec.row_shape = {kColumns};
  spec.persistent = true;
  {
    const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kTcp)));
    const DistTensor tensor = DistTensor::Create(trainer, spec);
    for (int64_t row = 0; row < kRows; row += 10'000) {
      std::vector<int64_t> ids;
      for (int64_t id = row; id < row + 10'000; id++) ids.push_back(id);
      tensor.Write(ids, Numbered(row, row + 10'000));
    }
  }
  served.daemon(0).Signal(SIGTERM);
  bool seen = false;
  try {
    const auto control = ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(5));
    for (;;) {
      const ServerStatus status = control->Status();
      if (status.state != "draining") continue;
      if (!seen) {
        seen = true;
        JobMember late;
        late.job_id = "late";
        EXPECT_THAT([&] { control->JoinJob(late); },
                    ThrowsMessage<Error>(HasSubstr("it is stopping")));
      }
      EXPECT_LE(status.store.value().written_bytes, status.store.value().changed_bytes);
    }
  } catch (const Error&) {  // it has ended
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(served.daemon(0).Wait(), 0) << served.daemon(0).Log();
  EXPECT_THAT(messages.lines(), Contains("STOPPING=1"));
  EXPECT_THAT(messages.lines(), Contains(StartsWith("EXTEND_TIMEOUT_USEC=")));
  EXPECT_THAT(messages.lines(),
              Contains(::testing::ContainsRegex("STATUS=stopping: writing changed rows back: "
                                                ".* of 19[0-9] MiB, .*iB/s, .* s left")));

  served.StartAgain(0);
  served.daemon(0).WaitReady(served.socket_path(0));
  const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kTcp)));
  const DistTensor tensor = DistTensor::Open(trainer, "rows");
  const Tensor rows = tensor.Slice(30'000, 31'000), wanted = Numbered(30'000, 40'000);
  EXPECT_TRUE(
      std::equal(rows.as<float>().begin(), rows.as<float>().end(), wanted.as<float>().begin()));
}

}  // namespace
}  // namespace graphd::testing
