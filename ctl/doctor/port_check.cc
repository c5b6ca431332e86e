// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/port_check.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

namespace fs = std::filesystem;

constexpr double kConnectSeconds = 3;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Returns the addresses of a name; null, and the reason in `error`, if it has none.
Addresses Resolve(const std::string& address, uint16_t port, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(address.c_str(), StrCat(port).c_str(), &hints, &found)) {
    error = StrCat("'", address, "' can't be resolved: ", ::gai_strerror(code));
    found = nullptr;
  }
  return {found, &::freeaddrinfo};
}

// Returns the inodes of the sockets that listen at a port, from /proc/net.
std::vector<std::string> ListeningSockets(uint16_t port) {
  std::vector<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // the titles
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retries, user, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
          inode;
      constexpr const char* kListen = "0A";
      const size_t colon = local.rfind(':');
      if (state != kListen || colon == std::string::npos) continue;
      if (std::stoul(local.substr(colon + 1), nullptr, 16) == port) inodes.push_back(inode);
    }
  }
  return inodes;
}

// Returns " (NAME, pid PID)" of the program that listens at a port; empty if it can't be seen.
std::string ListenerAt(uint16_t port) {
  const std::vector<std::string> inodes = ListeningSockets(port);
  for (const std::string& pid : ListReadable("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const fs::path process = fs::path("/proc") / pid;
    // Errors are ignored, because processes and descriptors may end meanwhile.
    for (const std::string& descriptor : ListReadable(process / "fd")) {
      std::error_code ignored;
      const std::string target = fs::read_symlink(process / "fd" / descriptor, ignored).string();
      for (const std::string& inode : inodes) {
        if (target != StrCat("socket:[", inode, "]")) continue;
        std::ifstream file(process / "comm");
        std::string name;
        std::getline(file, name);
        return StrCat(" (", name, ", pid ", pid, ")");
      }
    }
  }
  return "";
}

std::string ListenError(int error, uint16_t port) {
  switch (error) {
    case EADDRINUSE:
      return StrCat("port ", port, " is in use by another program", ListenerAt(port));
    case EADDRNOTAVAIL:
      return "it is not an address of this host";
    case EACCES:
      return StrCat("this user may not listen at port ", port);
    default:
      return std::strerror(error);
  }
}

// A connection that is being made.
struct Attempt {
  std::string address;
  UniqueFd fd;
  std::string error;
};

Attempt StartConnecting(const std::string& address) {
  Attempt attempt{address, {}, ""};
  const auto [host, port] = ParseHostPort(address);
  const Addresses found = Resolve(host, port, attempt.error);
  if (!found) return attempt;
  attempt.fd = UniqueFd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(attempt.fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    if (errno != ECONNREFUSED) attempt.error = std::strerror(errno);
    attempt.fd.reset();
  }
  return attempt;
}

// Notes how an attempt has ended.
void Finish(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0 && error != ECONNREFUSED) attempt.error = std::strerror(error);
  attempt.fd.reset();
}

}  // namespace

std::string WhyNotListen(const std::string& address, uint16_t port) {
  std::string error;
  const Addresses found = Resolve(address, port, error);
  if (!found) return error;
  const UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Two sockets may be bound to a port until one of them listens.
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), 1) != 0) {
    return ListenError(errno, port);
  }
  return "";
}

std::vector<std::string> FindUnreachable(const std::vector<std::string>& addresses) {
  std::vector<Attempt> attempts;
  for (const std::string& address : addresses) attempts.push_back(StartConnecting(address));
  const Clock::time_point start = Clock::now();
  while (SecondsSince(start) < kConnectSeconds) {
    std::vector<pollfd> waiting;
    for (const Attempt& attempt : attempts) {
      if (attempt.fd) waiting.push_back({attempt.fd.get(), POLLOUT, 0});
    }
    if (waiting.empty()) break;
    ::poll(waiting.data(), waiting.size(), 100);
    for (const pollfd& ready : waiting) {
      if (ready.revents == 0) continue;
      for (Attempt& attempt : attempts) {
        if (attempt.fd && attempt.fd.get() == ready.fd) Finish(attempt);
      }
    }
  }
  std::vector<std::string> unreachable;
  for (const Attempt& attempt : attempts) {
    if (attempt.fd) {
      unreachable.push_back(
          StrCat(attempt.address, ": no answer within ", kConnectSeconds, " seconds"));
    } else if (!attempt.error.empty()) {
      unreachable.push_back(StrCat(attempt.address, ": ", attempt.error));
    }
  }
  return unreachable;
}

}  // namespace graphd::ctl
