// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/local_tcp_user.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>

#include "base/file.h"

namespace graphd {
namespace {

// Sets `id` to the two ends of the connection, as inet_diag names them. Returns the address family,
// or nothing if the addresses can't be read.
std::optional<uint8_t> Identify(int fd, inet_diag_sockid& id) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) {
    return std::nullopt;
  }
  // The source of the query is the end whose owner is wanted, which is the peer's.
  if (own.ss_family == AF_INET) {
    const auto& source = reinterpret_cast<const sockaddr_in&>(peer);
    const auto& target = reinterpret_cast<const sockaddr_in&>(own);
    id.idiag_sport = source.sin_port;
    id.idiag_dport = target.sin_port;
    std::memcpy(id.idiag_src, &source.sin_addr, sizeof source.sin_addr);
    std::memcpy(id.idiag_dst, &target.sin_addr, sizeof target.sin_addr);
  } else {
    const auto& source = reinterpret_cast<const sockaddr_in6&>(peer);
    const auto& target = reinterpret_cast<const sockaddr_in6&>(own);
    id.idiag_sport = source.sin6_port;
    id.idiag_dport = target.sin6_port;
    std::memcpy(id.idiag_src, &source.sin6_addr, sizeof source.sin6_addr);
    std::memcpy(id.idiag_dst, &target.sin6_addr, sizeof target.sin6_addr);
  }
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return static_cast<uint8_t>(own.ss_family);
}

}  // namespace

std::optional<uid_t> LocalTcpUser(int fd) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 diag;
  } request{};
  const auto family = Identify(fd, request.diag.id);
  if (!family) return std::nullopt;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.diag.sdiag_family = *family;
  request.diag.sdiag_protocol = IPPROTO_TCP;
  request.diag.idiag_states = ~0U;
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink || ::send(netlink.get(), &request, sizeof request, 0) < 0) return std::nullopt;
  alignas(nlmsghdr) char answer[1024];
  const ssize_t size = ::recv(netlink.get(), answer, sizeof answer, 0);
  if (size < static_cast<ssize_t>(sizeof(nlmsghdr) + sizeof(inet_diag_msg))) return std::nullopt;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  // A socket that its process has closed already is reported with user 0, and without an inode.
  if (found->idiag_state != TCP_ESTABLISHED || found->idiag_inode == 0 ||
      std::memcmp(found->id.idiag_src, request.diag.id.idiag_src, 16) != 0 ||
      found->id.idiag_sport != request.diag.id.idiag_sport ||
      found->id.idiag_dport != request.diag.id.idiag_dport) {
    return std::nullopt;
  }
  return found->idiag_uid;
}

}  // namespace graphd
