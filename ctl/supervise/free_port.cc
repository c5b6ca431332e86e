// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/free_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <memory>
#include <random>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr int kAttempts = 100;
constexpr int kFewestPorts = 100;
constexpr int kLastPort = 65'535;

// Returns a random port above those that the system assigns to connections, or 0, which lets the
// system choose, if there are too few.
int RandomPort(std::random_device& random) {
  int low = 0, high = 0;
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  if (!(range >> low >> high) || kLastPort - high < kFewestPorts) return 0;
  return std::uniform_int_distribution<>(high + 1, kLastPort)(random);
}

void SetPort(addrinfo& address, int port) {
  const uint16_t bytes = htons(static_cast<uint16_t>(port));
  if (address.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_port = bytes;
  } else {
    reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_port = bytes;
  }
}

int PortOf(const UniqueFd& socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

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
  // SO_REUSEADDR is not set: with it, another job's launcher could hold the same port.
  std::random_device random;
  for (int attempt = 0; attempt <= kAttempts; attempt++) {
    SetPort(*found, attempt < kAttempts ? RandomPort(random) : 0);
    if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0) {
      const int port = PortOf(socket);
      return {std::move(socket), port};
    }
    if (errno != EADDRINUSE) break;
  }
  ThrowErrno("can't bind a port of", address);
}

}  // namespace graphd::ctl
