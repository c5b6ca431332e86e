// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "base/clock.h"

namespace graphd {

// The longest time for a handshake, on either side.
inline constexpr std::chrono::seconds kHandshakeLimit{10};

// A client's non-blocking socket during a handshake, which has a deadline. Threads can be
// interrupted while they wait.
class HandshakeSocket {
 public:
  // `peer` and `handshake` ("the TLS handshake") are how messages name both; `option` is what a
  // daemon needs for it ("--keys"). The time is at most kHandshakeLimit.
  HandshakeSocket(int fd, std::string peer, std::string handshake, std::string option,
                  std::chrono::milliseconds timeout);

  // Send all bytes, and receive at least one. Throw Error(kUnavailable) if the peer closes the
  // connection or the network fails, and Error(kDeadline).
  void Send(std::span<const std::byte> bytes);
  size_t Receive(std::span<std::byte> room);

 private:
  void WaitAfterErrno(short events);

  const int fd_;
  const std::string peer_, handshake_, option_;
  const std::chrono::milliseconds timeout_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace graphd
