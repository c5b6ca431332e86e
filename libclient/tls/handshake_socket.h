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

// A client's non-blocking socket during a handshake. The handshake has a deadline. While Send or
// Receive waits, the InterruptCheck of the calling thread (base/interruptions.h) can interrupt it.
class HandshakeSocket {
 public:
  // In messages, `peer` names the server and `handshake` the handshake ("the TLS handshake").
  // `option` is the option that a daemon needs for this handshake ("--keys"). A timeout longer than
  // kHandshakeLimit is shortened to it.
  HandshakeSocket(int fd, std::string peer, std::string handshake, std::string option,
                  std::chrono::milliseconds timeout);

  // Send sends all bytes; Receive waits for at least one byte. Both throw Error(kUnavailable) if
  // the peer closes the connection or the network fails, and Error(kDeadline).
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
