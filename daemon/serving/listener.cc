// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr int kBacklog = 1024;

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
  }
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

std::pair<std::string, uint16_t> NumericAddress(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {"?", 0};
  }
  return {host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10))};
}

// Sets what all accepted TCP connections need.
void SetTcpOptions(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // Keepalive detects within two minutes that a trainer's machine has vanished.
  const int idle = 60, interval = 15, probes = 4;
  const unsigned unacknowledged_ms = 120'000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

const Listener::Texts Listener::kListenTexts{
    "--listen", "in the ip_config file, or with graphd's --listen",
    "traffic beyond loopback is neither encrypted nor authenticated; make keys with `graphctl keys "
    "create` and give --keys, or --secret in a network where nobody else listens, or --insecure if "
    "everyone who can reach that address may read the graph"};

Listener Listener::BindTcp(const std::string& address, uint16_t port, bool beyond_loopback,
                           const Texts& texts) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), StrCat(port).c_str(), &hints, &found)) {
    Throw(ErrorCode::kInvalid, texts.option, ": can't resolve ", address, ": ",
          ::gai_strerror(error));
  }
  const auto free_list = kj::defer([found] { ::freeaddrinfo(found); });
  if (!beyond_loopback && !IsLoopback(found->ai_addr)) {
    Throw(ErrorCode::kDenied, texts.option, " ", HostPort(address, port), ": ",
          texts.beyond_loopback);
  }
  Listener listener;
  listener.fd_ =
      UniqueFd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd_) ThrowErrno("can't make a socket for", address);
  const int one = 1;
  ::setsockopt(listener.fd_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener.fd_.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(listener.fd_.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      Throw(
          ErrorCode::kExists, "port ", port, " of ", address,
          " is in use; see who has it with `ss -ltnp`, or choose another one: ", texts.other_port);
    }
    ThrowErrno("can't listen on", HostPort(address, port));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(listener.fd_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  const auto [host, number] = NumericAddress(reinterpret_cast<sockaddr*>(&bound), length);
  listener.port_ = number;
  listener.text_ = HostPort(host, number);
  return listener;
}

Listener Listener::BindUnix(const std::string& path, mode_t mode) {
  MakeDirectories(DirName(path));
  if (FileExists(path)) {
    bool running = true;
    try {
      ConnectUnix(path, 1000);
    } catch (const Error& error) {
      running = error.code() != ErrorCode::kUnavailable;
    }
    if (running) {
      Throw(ErrorCode::kExists, "a running graphd answers at ", path,
            "; attach to it, stop it (graphctl server stop), or choose another --server_name or ",
            "port");
    }
    LogInfo("removing the socket of a graphd that no longer runs: ", path);
    ::unlink(path.c_str());
  }
  sockaddr_un address = UnixAddress(path);
  Listener listener;
  listener.fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd_) ThrowErrno("can't make a socket for", path);
  if (::bind(listener.fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ThrowErrno("can't bind", path);
  }
  listener.path_ = path;
  ::chmod(path.c_str(), mode);
  if (::listen(listener.fd_.get(), kBacklog) != 0) ThrowErrno("can't listen on", path);
  listener.text_ = path;
  return listener;
}

Listener::~Listener() {
  if (fd_ && !path_.empty()) ::unlink(path_.c_str());
}

kj::Promise<void> Listener::Accept(kj::UnixEventPort& events,
                                   std::function<void(UniqueFd, Peer)> accepted) {
  auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
      events, fd_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto& reference = *observer;
  return Loop(events, reference, std::move(accepted)).attach(kj::mv(observer));
}

kj::Promise<void> Listener::Loop(kj::UnixEventPort& events, kj::UnixEventPort::FdObserver& observer,
                                 std::function<void(UniqueFd, Peer)> accepted) {
  // Events are edge-triggered: accept until none is pending, or the next connection is never seen.
  for (;;) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      // A failure ends this connection; the next ones are accepted.
      LogFailure("a new connection", [&] {
        if (path_.empty()) SetTcpOptions(fd.get());
        Peer peer = PeerOf(fd.get(), !path_.empty());
        accepted(std::move(fd), std::move(peer));
      });
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return observer.whenBecomesReadable().then(
          [this, &events, &observer, accepted = std::move(accepted)]() mutable {
            return Loop(events, observer, std::move(accepted));
          });
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // No descriptors or memory are left: connections in the backlog can wait.
      LogWarning("can't accept on ", text_, ": ", std::strerror(errno));
      return events.getTimer()
          .afterDelay(100 * kj::MILLISECONDS)
          .then([this, &events, &observer, accepted = std::move(accepted)]() mutable {
            return Loop(events, observer, std::move(accepted));
          });
    }
  }
}

}  // namespace graphd
