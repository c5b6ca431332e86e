// SPDX-License-Identifier: Apache-2.0
#include "tests/support/service_messages.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/strings.h"

namespace graphd::testing {

ServiceMessages::ServiceMessages(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  reader_ = std::thread([this] { Read(); });
}

ServiceMessages::~ServiceMessages() {
  ::unsetenv("NOTIFY_SOCKET");
  stop_ = true;
  reader_.join();
}

std::vector<std::string> ServiceMessages::lines() const {
  const MutexLock lock(mutex_);
  return lines_;
}

void ServiceMessages::Read() {
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

}  // namespace graphd::testing
