// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

namespace graphd::testing {

// Sends bytes over a Unix socket, together with `count` copies of a descriptor.
inline void SendDescriptors(int fd, const void* bytes, size_t size, int sent, size_t count) {
  const std::vector<int> copies(count, sent);
  const size_t copied = count * sizeof(int);
  std::vector<cmsghdr> control(CMSG_SPACE(copied) / sizeof(cmsghdr) + 1);
  iovec data{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(copied);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(copied);
  std::memcpy(CMSG_DATA(header), copies.data(), copied);
  ASSERT_EQ(::sendmsg(fd, &message, MSG_NOSIGNAL), static_cast<ssize_t>(size));
}

}  // namespace graphd::testing
