// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/listening_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

// Returns the value of an option of a socket, as a number; -1 if the socket does not have the
// option.
int NumberOf(int fd, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

}  // namespace

std::string ListeningAddress::text() const { return is_unix ? host : HostPort(host, port); }

ListeningAddress ListeningAddress::Of(const sockaddr* address, unsigned length) {
  if (address->sa_family == AF_UNIX) {
    const char* const path = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
    const size_t bytes = length - std::min<size_t>(length, offsetof(sockaddr_un, sun_path));
    // A name that begins with a zero byte is not a path; ss(8) shows it with '@'.
    if (bytes > 0 && path[0] == '\0') return {true, "@" + std::string(path + 1, bytes - 1), 0};
    return {true, std::string(path, ::strnlen(path, bytes)), 0};
  }
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {false, "?", 0};
  }
  return {false, host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10))};
}

ListeningAddress ListeningAddress::Of(int fd) {
  const int family = NumberOf(fd, SO_DOMAIN);
  if (NumberOf(fd, SO_TYPE) != SOCK_STREAM ||
      (family != AF_UNIX && family != AF_INET && family != AF_INET6)) {
    Throw(ErrorCode::kInvalid, "it is neither a Unix stream socket nor a TCP socket");
  }
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    ThrowErrno("can't see the address of", "a socket");
  }
  ListeningAddress found = Of(reinterpret_cast<sockaddr*>(&address), length);
  if (NumberOf(fd, SO_ACCEPTCONN) != 1) {
    Throw(ErrorCode::kInvalid, "the socket ", found.text(), " does not listen");
  }
  return found;
}

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

}  // namespace graphd
