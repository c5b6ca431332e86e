// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

struct sockaddr;

namespace graphd {

// The address of a socket that listens for streams, as numbers.
struct ListeningAddress {
  bool is_unix = false;
  std::string host;   // an IP address, or the path of a Unix socket
  uint16_t port = 0;  // 0 for a Unix socket

  std::string text() const;  // "127.0.0.1:30050", or the path
  // Returns whether `other` is this address. If the port here is 0, it may have any port.
  bool Includes(const ListeningAddress& other) const {
    return is_unix == other.is_unix && host == other.host && (port == 0 || port == other.port);
  }

  static ListeningAddress Of(const sockaddr* address, unsigned length);
  // Returns the address at which a socket listens. Throws Error(kInvalid) unless it is a Unix or
  // TCP socket that listens.
  static ListeningAddress Of(int fd);
};

bool IsLoopback(const sockaddr* address);

}  // namespace graphd
