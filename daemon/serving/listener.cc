// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "wire/connection.h"
#include "wire/ip_config.h"
#include "wire/trusted_users.h"

namespace graphd {
namespace {

constexpr int kBacklog = 1024;
// The connections that are accepted before the event loop looks for other events.
constexpr int kAcceptedAtOnce = 64;
// The pause after a failure.
constexpr auto kPause = 100 * kj::MILLISECONDS;

// Sets the options of an accepted TCP connection.
void SetTcpOptions(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // Notices within two minutes that a trainer's machine has vanished.
  NoticeVanishedPeer(fd, std::chrono::seconds(60), std::chrono::seconds(15),
                     std::chrono::minutes(2));
}

}  // namespace

const Listener::Texts Listener::kListenTexts{
    "--listen", "in the ip_config file, or with graphd's --listen",
    "traffic beyond loopback is neither encrypted nor authenticated; make keys with `graphctl keys "
    "create` and give --keys, or --secret in a network where nobody else listens, or --insecure if "
    "everyone who can reach that address may read the graph"};

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Returns the addresses of a host; the first of them is used. Throws as Listener::ResolveTcp does.
Addresses Resolve(const std::string& address, uint16_t port, bool beyond_loopback,
                  const Listener::Texts& texts) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), StrCat(port).c_str(), &hints, &list)) {
    Throw(ErrorCode::kInvalid, texts.option, ": can't resolve ", address, ": ",
          ::gai_strerror(error));
  }
  Addresses found(list, ::freeaddrinfo);
  if (!beyond_loopback && !IsLoopback(found->ai_addr)) {
    Throw(ErrorCode::kDenied, texts.option, " ", HostPort(address, port), ": ",
          texts.beyond_loopback);
  }
  return found;
}

}  // namespace

ListeningAddress Listener::ResolveTcp(const std::string& address, uint16_t port,
                                      bool beyond_loopback, const Texts& texts) {
  const Addresses found = Resolve(address, port, beyond_loopback, texts);
  return ListeningAddress::Of(found->ai_addr, found->ai_addrlen);
}

Listener Listener::BindTcp(const std::string& address, uint16_t port, bool beyond_loopback,
                           const Texts& texts) {
  const Addresses found = Resolve(address, port, beyond_loopback, texts);
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
  listener.address_ = ListeningAddress::Of(listener.fd_.get());
  return listener;
}

Listener Listener::BindUnix(const std::string& path, mode_t mode) {
  MakeDirectories(DirName(path));
  CheckSocketDirectory(path);
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
  listener.address_ = {true, path, 0};
  SetMode(path, mode);
  if (::listen(listener.fd_.get(), kBacklog) != 0) ThrowErrno("can't listen on", path);
  return listener;
}

Listener Listener::Adopt(UniqueFd fd) {
  Listener listener;
  listener.address_ = ListeningAddress::Of(fd.get());
  listener.fd_ = std::move(fd);
  listener.removes_file_ = false;  // until it is known to be ours
  const int flags = ::fcntl(listener.fd_.get(), F_GETFL);
  // Calls listen again, because the kernel shows to clients of a Unix socket the user of the
  // process that has called it last.
  if (::fcntl(listener.fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(listener.fd_.get(), F_SETFD, FD_CLOEXEC) != 0 ||
      ::listen(listener.fd_.get(), kBacklog) != 0) {
    ThrowErrno("can't listen on", listener.text());
  }
  return listener;
}

void Listener::SetMode(const std::string& path, mode_t mode) noexcept {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 07777) == mode) return;
  if (::chmod(path.c_str(), mode) == 0) return;
  const int error = errno;
  char digits[8];
  std::snprintf(digits, sizeof digits, "%04o", static_cast<unsigned>(mode & 07777));
  LogWarning("can't change who may connect to ", path, " (mode ", digits,
             "): ", std::strerror(error),
             "; if a socket unit made it, write SocketUser= with graphd's user into the unit");
}

Listener::~Listener() {
  if (fd_ && address_.is_unix && removes_file_) ::unlink(address_.host.c_str());
}

kj::Promise<void> Listener::Accept(kj::UnixEventPort& events,
                                   std::function<void(UniqueFd, Peer)> accepted) {
  auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
      events, fd_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto& reference = *observer;
  return kj::evalNow([&] { return Loop(events, reference, accepted); })
      .attach(kj::mv(observer))
      .catch_([this, &events, accepted](kj::Exception&& exception) {
        LogError("accepting on ", text(),
                 " has failed and begins again: ", exception.getDescription().cStr());
        return events.getTimer().afterDelay(kPause).then(
            [this, &events, accepted] { return Accept(events, accepted); });
      });
}

kj::Promise<void> Listener::Loop(kj::UnixEventPort& events, kj::UnixEventPort::FdObserver& observer,
                                 std::function<void(UniqueFd, Peer)> accepted) {
  const auto again = [&](kj::Promise<void> when) {
    return when.then([this, &events, &observer, accepted = std::move(accepted)]() mutable {
      return Loop(events, observer, std::move(accepted));
    });
  };
  // Events are edge-triggered. If a connection were left pending, no event would report it, so all
  // are accepted before an event is waited for.
  for (int i = 0; i < kAcceptedAtOnce; i++) {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      // A failure ends this connection; the next ones are accepted.
      LogFailure("a new connection", [&] {
        if (!address_.is_unix) SetTcpOptions(fd.get());
        Peer peer = PeerOf(fd.get(), address_.is_unix);
        accepted(std::move(fd), std::move(peer));
      });
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return again(observer.whenBecomesReadable());
    } else if (errno != EINTR && errno != ECONNABORTED) {
      // There are no descriptors or no memory left. New connections wait in the backlog meanwhile.
      LogWarning("can't accept on ", text(), ": ", std::strerror(errno));
      return again(events.getTimer().afterDelay(kPause));
    }
  }
  // A timer fires only after the event loop has looked for events.
  return again(events.getTimer().afterDelay(0 * kj::NANOSECONDS));
}

}  // namespace graphd
