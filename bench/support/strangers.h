// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"

namespace graphd::bench {

// Connections of a user without any right, each of which asks for the status without a pause, and
// is opened again when the daemon has closed it. Used by one thread.
class Strangers {
 public:
  // Makes the calling thread belong to user 65534 if it belongs to root.
  Strangers(uint16_t port, size_t connections);
  // Sends what the daemon takes now, on each connection, and reads what it has answered. Returns
  // the number of bytes that were read.
  size_t Send();

 private:
  struct Connection {
    UniqueFd fd;
    size_t at = 0;  // the next byte of calls_ that is to be sent
  };

  const uint16_t port_;
  const std::string bootstrap_, calls_;
  std::string answers_;  // read and not looked at
  std::vector<Connection> connections_;
};

}  // namespace graphd::bench
