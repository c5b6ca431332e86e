// SPDX-License-Identifier: Apache-2.0
#include "ctl/slurm/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <memory>

#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

// Returns an address as text; empty if it is neither IPv4 nor IPv6, or is a loopback or link-local
// address.
std::string TextOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address && address->sa_family == AF_INET) {
    const in_addr& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    const uint32_t number = ntohl(ip.s_addr);
    const bool is_own = (number >> 24) == 127 || (number >> 16) == 0xa9fe;
    if (!is_own) ::inet_ntop(AF_INET, &ip, text, sizeof text);
  } else if (address && address->sa_family == AF_INET6) {
    const in6_addr& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    const bool is_own = IN6_IS_ADDR_LOOPBACK(&ip) || IN6_IS_ADDR_LINKLOCAL(&ip);
    if (!is_own) ::inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  return text;
}

}  // namespace

std::vector<std::string> OwnAddresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* each = first; each; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    const std::string text = TextOf(each->ifa_addr);
    if (!text.empty()) addresses.push_back(text);
  }
  return addresses;
}

std::vector<std::string> LookUpAddress(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &first) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(first, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = first; each; each = each->ai_next) {
    const std::string text = TextOf(each->ai_addr);
    if (!text.empty()) addresses.push_back(text);
  }
  if (addresses.empty() && IsLocalAddress(address)) return OwnAddresses();
  return addresses;
}

}  // namespace graphd::ctl
