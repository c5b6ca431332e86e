// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

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

// Returns the source of connections from an address of the form 10.0.0.1 or [2001:db8::1]. Of IPv6,
// this is the network: its first 64 bits, because a machine may take any address in its network.
std::string SourceOf(const std::string& host) {
  in6_addr address{};
  const bool is_ipv6 =
      host.starts_with('[') &&
      ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  if (!is_ipv6 || IN6_IS_ADDR_V4MAPPED(&address)) return host;
  std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), uint8_t{0});
  char text[INET6_ADDRSTRLEN];
  return StrCat(::inet_ntop(AF_INET6, &address, text, sizeof text), "/64");
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
  for (const char* loopback : {"127.", "[::ffff:127.", "[::1]:"}) {
    if (text.starts_with(loopback)) return "this machine";
  }
  return SourceOf(text.substr(0, text.rfind(':')));
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
