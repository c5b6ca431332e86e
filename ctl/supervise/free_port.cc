// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/free_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "base/strings.h"

namespace graphd::ctl {

std::pair<UniqueFd, int> HoldFreePort(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0 || !found) {
    Throw(ErrorCode::kNotFound, "the address '", address,
          "' can't be resolved on this host; write it as a number in the file that names it, "
          "ip_config or that of --trainer_hosts");
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  UniqueFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) ThrowErrno("can't create a socket for", address);
  // With SO_REUSEADDR, a trainer can bind the port immediately after this process has released it,
  // which happens when the trainers start.
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    ThrowErrno("can't bind a port of", address);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  const uint16_t port = bound.ss_family == AF_INET6
                            ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                            : reinterpret_cast<sockaddr_in*>(&bound)->sin_port;
  return {std::move(socket), ntohs(port)};
}

}  // namespace graphd::ctl
