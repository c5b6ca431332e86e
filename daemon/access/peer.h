// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphd {

// The other end of a connection, as the kernel reports it.
struct Peer {
  bool is_unix = false;
  int64_t pid = 0;  // Unix sockets only
  // The user whose process has connected; unset if it runs on another machine.
  std::optional<uid_t> uid;
  std::vector<gid_t> gids;  // the groups of that user or, on a Unix socket, of that process
  std::string text;         // "unix" or the address; empty if the peer has closed the connection
  // The name of the peer's certificate; empty without TLS. If there is one, it alone identifies the
  // peer.
  std::string certificate{};
  // Whether the peer has proved that it knows the server's shared secret. If so, this alone
  // identifies the peer.
  bool has_secret = false;

  // Returns the name of the peer in log lines: its address, or "pid 17, uid 1000".
  std::string LogName() const;
  // Returns a text that is the same for all connections from the same source: a certificate, if it
  // is known already, a user of this machine, or else another machine: its address or, with IPv6,
  // the first 64 bits of it.
  std::string Source() const;
};

// Returns the peer of an accepted socket; over TCP, without the groups of its user, which
// UserDirectory finds. Does not block.
Peer PeerOf(int fd, bool is_unix);

}  // namespace graphd
