// SPDX-License-Identifier: Apache-2.0
#include "wire/ip_config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>

#include "base/directory.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/strings.h"

namespace graphd {

void ForEachHost(
    const std::string& text, const std::string& where, size_t most_columns, const char* form,
    const std::function<void(const std::vector<std::string>& columns, const std::string& at)>& f) {
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    number++;
    const std::vector<std::string> columns = SplitWhitespace(line);
    if (columns.empty() || columns[0][0] == '#') continue;
    const std::string at = StrCat(where, " line ", number);
    if (columns.size() > most_columns) {
      Throw(ErrorCode::kInvalid, at, ": '", Trim(line), "' has ", columns.size(),
            " columns; write '", form, "'");
    }
    f(columns, at);
  }
}

std::vector<HostLine> ParseIpConfig(const std::string& text, const std::string& where) {
  std::vector<HostLine> hosts;
  ForEachHost(
      text, where, 3, "address [port [trainers]]", [&](const auto& columns, const std::string& at) {
        HostLine host;
        host.address = columns[0];
        host.part = static_cast<PartId>(hosts.size());
        if (columns.size() > 1) {
          host.port = static_cast<uint16_t>(ParseInt(columns[1], at + ": port", 1, 65535));
        }
        if (columns.size() > 2) {
          host.num_trainers = static_cast<int>(ParseInt(columns[2], at + ": trainers", 0, 4096));
        }
        hosts.push_back(std::move(host));
      });
  if (hosts.empty()) {
    Throw(ErrorCode::kInvalid, where, " names no host; write one 'address [port]' per partition");
  }
  return hosts;
}

std::vector<HostLine> ReadIpConfig(const std::string& path) {
  if (!FileExists(path)) {
    Throw(ErrorCode::kNotFound, "ip_config '", path, "' can't be found; give the path of a file ",
          "with a line 'address [port]' per partition");
  }
  return ParseIpConfig(ReadTextFile(path, size_t{1} << 20), path);
}

std::vector<DaemonAddress> DaemonsOf(const std::vector<HostLine>& lines) {
  std::vector<DaemonAddress> daemons;
  for (const HostLine& line : lines) {
    DaemonAddress* daemon = nullptr;
    for (DaemonAddress& known : daemons) {
      if (known.address == line.address && known.port == line.port) daemon = &known;
    }
    if (!daemon) daemon = &daemons.emplace_back(DaemonAddress{line.address, line.port, {}});
    daemon->parts.push_back(line.part);
  }
  return daemons;
}

bool IsLoopbackAddress(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  bool loopback = found != nullptr;
  for (const addrinfo* a = found; a; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(a->ai_addr);
      loopback = loopback && (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    } else if (a->ai_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(a->ai_addr);
      loopback = loopback && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
  }
  ::freeaddrinfo(found);
  return loopback;
}

bool IsKnownAddress(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

bool IsLocalAddress(const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  ifaddrs* interfaces = nullptr;
  const bool listed = ::getifaddrs(&interfaces) == 0;
  bool local = false;
  for (addrinfo* a = found; a && !local; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      const in_addr ip = reinterpret_cast<sockaddr_in*>(a->ai_addr)->sin_addr;
      local = (ntohl(ip.s_addr) >> 24) == 127;
      for (ifaddrs* i = listed ? interfaces : nullptr; i && !local; i = i->ifa_next) {
        local = i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
                reinterpret_cast<sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr == ip.s_addr;
      }
    } else if (a->ai_family == AF_INET6) {
      const in6_addr& ip = reinterpret_cast<sockaddr_in6*>(a->ai_addr)->sin6_addr;
      local = IN6_IS_ADDR_LOOPBACK(&ip);
      for (ifaddrs* i = listed ? interfaces : nullptr; i && !local; i = i->ifa_next) {
        local = i->ifa_addr && i->ifa_addr->sa_family == AF_INET6 &&
                std::memcmp(&reinterpret_cast<sockaddr_in6*>(i->ifa_addr)->sin6_addr, &ip,
                            sizeof ip) == 0;
      }
    }
  }
  if (listed) ::freeifaddrs(interfaces);
  ::freeaddrinfo(found);
  return local;
}

std::string HostPort(const std::string& address, uint16_t port) {
  if (address.find(':') != std::string::npos) return StrCat("[", address, "]:", port);
  return StrCat(address, ":", port);
}

std::pair<std::string, uint16_t> ParseHostPort(const std::string& text) {
  std::string host = text, port;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    if (close == std::string::npos) Throw(ErrorCode::kInvalid, "'", text, "': ']' is missing");
    host = text.substr(1, close - 1);
    if (close + 1 < text.size() && text[close + 1] == ':') port = text.substr(close + 2);
  } else if (const size_t colon = text.rfind(':'); colon != std::string::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const bool is_number = host == text && std::ranges::all_of(host, [](unsigned char c) {
                           return std::isdigit(c) != 0;
                         });
  if (host.empty() || is_number) {
    Throw(ErrorCode::kInvalid, "'", text, "' names no host; write host:port");
  }
  if (port.empty()) return {host, kDefaultPort};
  return {host, static_cast<uint16_t>(ParseInt(port, "port of '" + text + "'", 0, 65535))};
}

std::string RuntimeDir() {
  if (const char* given = std::getenv("GRAPHD_RUNTIME_DIR"); given && *given) return given;
  if (::geteuid() == 0 || ::access("/run/graphd", W_OK) == 0) return "/run/graphd";
  // Slurm passes on the environment of the machine where srun was called, so this directory may not
  // exist on this machine.
  if (const char* xdg = std::getenv("XDG_RUNTIME_DIR"); xdg && ::access(xdg, W_OK) == 0) {
    return std::string(xdg) + "/graphd";
  }
  // Machines may share home directories, but can't share sockets.
  const std::string host = HostName();
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/' || host.empty()) {
    Throw(ErrorCode::kInvalid, "there is no directory for sockets: set GRAPHD_RUNTIME_DIR");
  }
  return StrCat(home, "/.cache/graphd/", host);
}

std::string SocketPath(const std::string& runtime_dir, const std::string& server_name,
                       uint16_t port) {
  return StrCat(runtime_dir, "/", server_name, "/", port, ".sock");
}

std::optional<uint16_t> PortOfSocketName(std::string_view name) {
  uint16_t port = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), port);
  if (end.ec != std::errc() || name != StrCat(port, ".sock")) return std::nullopt;
  return port;
}

std::string FindRuntimeDir(const std::string& path) {
  std::string system = "/run/graphd";
  std::string own;
  try {
    own = RuntimeDir();
  } catch (const Error&) {
    return system;  // a user without a directory for sockets runs no server
  }
  const auto has = [&](const std::string& directory) {
    return FileExists(StrCat(directory, "/", path));
  };
  return std::getenv("GRAPHD_RUNTIME_DIR") == nullptr && !has(own) && has(system) ? system : own;
}

std::string FindSocket(const std::string& server_name, uint16_t port,
                       const std::string& runtime_dir) {
  const std::string path = StrCat(server_name, "/", port, ".sock");
  return StrCat(runtime_dir.empty() ? FindRuntimeDir(path) : runtime_dir, "/", path);
}

namespace {

constexpr size_t kMostHinted = 10;

// Returns the names in a directory; none if it can't be read, which does no harm to a hint.
std::vector<std::string> NamesIn(const std::string& directory) {
  try {
    return ListDirectory(directory);
  } catch (const Error&) {
    return {};
  }
}

// Returns the first names as "a, b, ...".
std::string FirstOf(std::vector<std::string> names) {
  const bool has_more = names.size() > kMostHinted;
  if (has_more) names.resize(kMostHinted);
  return Join(names, ", ") + (has_more ? ", ..." : "");
}

}  // namespace

std::string OtherServersHint(const std::string& socket_directory) {
  const std::string runtime_dir = DirName(socket_directory);
  std::vector<std::string> names;
  for (const std::string& name : NamesIn(runtime_dir)) {
    const std::string directory = StrCat(runtime_dir, "/", name);
    if (directory == socket_directory) continue;
    const bool has_socket = std::ranges::any_of(NamesIn(directory), [](const std::string& file) {
      return PortOfSocketName(file).has_value();
    });
    if (has_socket) names.push_back(StrCat("'", name, "'"));
    if (names.size() > kMostHinted) break;
  }
  if (names.empty()) return {};
  return StrCat("; the server's name may be mistyped: in ", runtime_dir, " there are sockets of ",
                FirstOf(std::move(names)));
}

bool IsUnknownServer(const std::string& socket_path) {
  const std::string directory = DirName(socket_path);
  return !FileExists(directory) && !OtherServersHint(directory).empty();
}

std::string OtherSocketsHint(const std::string& socket_path) {
  const std::string own = DirName(socket_path);
  std::set<uint16_t> ports;
  for (const std::string& file : NamesIn(own)) {
    if (const auto port = PortOfSocketName(file)) ports.insert(*port);
  }
  if (ports.empty()) return OtherServersHint(own);
  std::vector<std::string> texts;
  for (const uint16_t port : ports) texts.push_back(StrCat(port));
  return StrCat("; this server has sockets of ", texts.size() == 1 ? "port " : "ports ",
                FirstOf(std::move(texts)), ", which the ip_config file should name");
}

void CheckServerName(const std::string& name) {
  bool good = !name.empty() && name.size() <= kMaxServerName && name[0] != '.' && name[0] != '-';
  for (char c : name) {
    good =
        good && (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.');
  }
  if (!good) {
    Throw(ErrorCode::kInvalid, "server name '", name,
          "': use 1 to 64 letters, digits, '-', '_' or '.', not beginning with '.' or '-'");
  }
}

}  // namespace graphd
