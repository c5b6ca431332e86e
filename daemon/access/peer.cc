// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/peer.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cstdlib>

#include "base/strings.h"
#include "daemon/access/local_tcp_user.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

// Returns the supplementary groups of the process that has connected to a Unix socket.
std::vector<gid_t> PeerGroups(int fd) {
  std::vector<gid_t> gids(64);
  socklen_t length = static_cast<socklen_t>(gids.size() * sizeof(gid_t));
  while (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids.data(), &length) != 0) {
    // The kernel writes the length that it needs.
    if (errno != ERANGE) return {};
    gids.resize(length / sizeof(gid_t));
  }
  gids.resize(length / sizeof(gid_t));
  return gids;
}

std::string NumericAddress(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return HostPort(host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10)));
}

}  // namespace

std::string Peer::LogName() const {
  if (is_unix) return uid ? StrCat("pid ", pid, ", uid ", *uid) : text;
  return certificate.empty() ? text : StrCat(text, ", certificate ", certificate);
}

std::string Peer::Source() const {
  if (!certificate.empty()) return "cert " + certificate;
  if (uid) return StrCat("uid ", *uid);
  // A client on this machine is without a user if it has closed its side already. It may have any
  // address of the loopback network.
  if (text.starts_with("127.") || text.starts_with("[::ffff:127.")) return "this machine";
  return text.substr(0, text.rfind(':'));
}

Peer PeerOf(int fd, bool is_unix) {
  Peer peer;
  peer.is_unix = is_unix;
  if (is_unix) {
    peer.text = "unix";
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return peer;
    peer.pid = credentials.pid;
    peer.uid = credentials.uid;
    peer.gids = PeerGroups(fd);
    peer.gids.push_back(credentials.gid);
    return peer;
  }
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(fd, generic, &length) == 0) peer.text = NumericAddress(generic, length);
  peer.uid = LocalTcpUser(fd);
  return peer;
}

}  // namespace graphd
