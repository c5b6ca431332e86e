// SPDX-License-Identifier: Apache-2.0
#include "wire/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "base/interruptions.h"
#include "base/strings.h"
#include "tls/secret_handshake.h"
#include "tls/tls_connect.h"
#include "tls/tls_stream.h"
#include "wire/ip_config.h"
#include "wire/trusted_users.h"

namespace graphd {
namespace {

constexpr const char* kMark = "[graphd:";

// Returns for how many descriptors TwoPartyVatNetwork should make room with each message. For those
// that are received, TensorStream has room of its own, but with 0, none are sent.
kj::uint RoomForDescriptors(bool is_unix, capnp::rpc::twoparty::Side side) {
  return is_unix && side == capnp::rpc::twoparty::Side::SERVER ? 1 : 0;
}

// Returns, for an error about a socket that does not exist, what the user can do.
std::string NoSocketHint(const std::string& path) {
  std::string others = OtherSocketsHint(path);
  if (!others.empty()) return others;
  return "; start the server with `graphctl server start`, or give the runtime_dir that it was "
         "started with";
}

kj::Own<kj::AsyncIoStream> StreamOf(kj::LowLevelAsyncIoProvider& provider, ClientSocket socket) {
  auto stream = WrapSocket(provider, std::move(socket.fd), socket.is_unix);
  if (!socket.tls) return stream;
  return kj::heap<TlsStream>(kj::mv(stream), std::move(socket.tls));
}

capnp::ReaderOptions Limits() {
  capnp::ReaderOptions options;
  // The limit counts every word that is visited, so a message that is read twice counts twice.
  options.traversalLimitInWords = 4 * kMaxMessageBytes / sizeof(capnp::word);
  return options;
}

// Waits for a non-blocking connect. Returns 0 or an errno.
int FinishConnect(int fd, int timeout_ms) {
  pollfd wait{fd, POLLOUT, 0};
  const int slice = static_cast<int>(kInterruptPause.count());
  for (const auto start = Clock::now(); ::poll(&wait, 1, std::min(slice, timeout_ms)) <= 0;) {
    Interruptions::Check();
    if (SecondsSince(start) * 1000 >= timeout_ms) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

UniqueFd OpenTcp(const std::string& address, uint16_t port, int timeout_ms) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* addresses = nullptr;
  if (const int error = ::getaddrinfo(address.c_str(), StrCat(port).c_str(), &hints, &addresses)) {
    Throw(ErrorCode::kUnavailable, "can't resolve ", address, ": ", ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(addresses, ::freeaddrinfo);
  int error = ECONNREFUSED;
  UniqueFd fd;
  for (addrinfo* a = found.get(); a; a = a->ai_next) {
    fd.reset(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      error = errno;
      continue;
    }
    error = ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = FinishConnect(fd.get(), timeout_ms);
    if (error == 0) break;
    fd.reset();
  }
  if (!fd) {
    Throw(ErrorCode::kUnavailable, "nothing answers at ", HostPort(address, port), ": ",
          std::strerror(error),
          "; is graphd running there, and with --listen? (graphctl server status)");
  }
  const int one = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// Makes the handshake of TLS or of the shared secret. Before it, reads the files again if they have
// changed.
std::unique_ptr<TlsSession> ShakeHands(int fd, const std::string& peer,
                                       std::chrono::milliseconds timeout, TlsKeys* keys,
                                       SecretFile* secret) {
  if (keys != nullptr) {
    keys->Refresh();
    return ConnectTls(fd, keys->Current(), peer, timeout);
  }
  if (secret != nullptr) {
    secret->Refresh();
    ConnectWithSecret(fd, *secret->Current(), secret->server_name(), peer, timeout);
  }
  return nullptr;
}

}  // namespace

kj::Own<kj::AsyncIoStream> WrapSocket(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd,
                                      bool is_unix) {
  constexpr kj::uint kFlags = kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                              kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                              kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK;
  if (is_unix) return provider.wrapUnixSocketFd(fd.release(), kFlags);
  return provider.wrapSocketFd(fd.release(), kFlags);
}

Connection::Connection(kj::LowLevelAsyncIoProvider& provider, ClientSocket socket,
                       std::shared_ptr<BufferPool> pool)
    : Connection(StreamOf(provider, std::move(socket)), socket.is_unix, std::move(pool),
                 capnp::rpc::twoparty::Side::CLIENT, nullptr) {}

Connection::Connection(kj::Own<kj::AsyncIoStream> stream, bool is_unix,
                       std::shared_ptr<BufferPool> pool, capnp::rpc::twoparty::Side side,
                       kj::Maybe<capnp::Capability::Client> bootstrap)
    : socket_(kj::mv(stream)),
      messages_(kj::heap<TensorStream>(
          *socket_, is_unix ? static_cast<kj::AsyncCapabilityStream*>(socket_.get()) : nullptr,
          std::move(pool), kMaxMessageBytes, kMaxUnsentBytes,
          side == capnp::rpc::twoparty::Side::SERVER)),
      network_(*messages_, RoomForDescriptors(is_unix, side), side, Limits()),
      rpc_(bootstrap == nullptr
               ? capnp::makeRpcClient(network_)
               : capnp::makeRpcServer(network_, kj::mv(KJ_ASSERT_NONNULL(bootstrap)))) {
  if (side == capnp::rpc::twoparty::Side::SERVER) {
    rpc_.setFlowLimit(kUnattachedUnanswered / sizeof(capnp::word));
  }
}

void Connection::Admit(std::shared_ptr<MemoryAccount> account) {
  messages_->Admit(std::move(account));
  rpc_.setFlowLimit(kMaxUnanswered / sizeof(capnp::word));
}

wire::Daemon::Client Connection::Bootstrap() {
  capnp::MallocMessageBuilder message;
  auto vat = message.getRoot<capnp::rpc::twoparty::VatId>();
  vat.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc_.bootstrap(vat).castAs<wire::Daemon>();
}

kj::Exception ToKj(const Error& error) {
  std::string text = error.what();
  if (text.size() > kMaxErrorText) {
    Truncate(text, kMaxErrorText);
    text += "...";
  }
  auto type = kj::Exception::Type::FAILED;
  if (error.code() == ErrorCode::kOverloaded) type = kj::Exception::Type::OVERLOADED;
  return kj::Exception(
      type, __FILE__, __LINE__,
      kj::heapString(StrCat(kMark, ErrorCodeName(error.code()), "] ", text).c_str()));
}

Error FromKj(const kj::Exception& exception, const std::string& peer) {
  const std::string text = exception.getDescription().cStr();
  // The peer's runtime puts a prefix ("remote exception: ...") before the texts that it forwards.
  if (const size_t mark = text.find(kMark); mark != std::string::npos) {
    const size_t name = mark + std::strlen(kMark), close = text.find("] ", name);
    if (close != std::string::npos) {
      return Error(ErrorCodeFromName(text.substr(name, close - name)), text.substr(close + 2));
    }
  }
  switch (exception.getType()) {
    case kj::Exception::Type::DISCONNECTED:
      return Error(ErrorCode::kUnavailable, peer + " disconnected: " + text);
    case kj::Exception::Type::OVERLOADED:
      return Error(ErrorCode::kOverloaded, peer + ": " + text);
    case kj::Exception::Type::UNIMPLEMENTED:
      return Error(ErrorCode::kVersion,
                   peer + " does not know this call; upgrade the older of the two: " + text);
    case kj::Exception::Type::FAILED:
      break;
  }
  return Error(ErrorCode::kInternal, peer + ": " + text);
}

void NoticeVanishedPeer(int fd, std::chrono::seconds idle, std::chrono::seconds interval,
                        std::chrono::milliseconds unacknowledged) {
  const int one = 1;
  const auto first = static_cast<int>(idle.count()), next = static_cast<int>(interval.count());
  const auto limit = static_cast<unsigned>(unacknowledged.count());
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof first);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &next, sizeof next);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

ClientSocket ConnectTcp(const std::string& address, uint16_t port, int timeout_ms, TlsKeys* keys,
                        SecretFile* secret) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto left = [end] {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
                    std::chrono::milliseconds(1));
  };
  const auto connect = [&] {
    ClientSocket socket{OpenTcp(address, port, static_cast<int>(left().count()))};
    NoticeVanishedPeer(socket.fd.get(), kClientIdle, kClientProbe, kClientUnacknowledged);
    const std::string peer = "the graphd at " + HostPort(address, port);
    socket.tls = ShakeHands(socket.fd.get(), peer, left(), keys, secret);
    return socket;
  };
  try {
    return connect();
  } catch (const Error& denied) {
    if (denied.code() != ErrorCode::kDenied) throw;
    // While keys are rotated, one side may have read its files just before they changed, and the
    // other side just after. With TLS, both sides read their files again for a new connection.
    try {
      return connect();
    } catch (const Error& again) {
      if (again.code() == ErrorCode::kDenied) throw;
      throw Error(denied);  // perhaps only the time has run out
    }
  }
}

ClientCredentials ReadCredentials(const std::string& keys, const std::string& secret_file,
                                  const std::string& server_name) {
  ClientCredentials read;
  if (!keys.empty() && !secret_file.empty()) {
    Throw(ErrorCode::kInvalid, "both keys (GRAPHD_KEYS, --keys) and a shared secret ",
          "(GRAPHD_SECRET, --secret) are given; give the one that the servers have");
  }
  if (!keys.empty()) {
    read.keys =
        std::make_unique<TlsKeys>(KeyDirectory(keys, server_name), server_name, TlsSide::kClient);
  } else if (!secret_file.empty()) {
    read.secret = std::make_unique<SecretFile>(secret_file, server_name);
  }
  return read;
}

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    Throw(ErrorCode::kInvalid, "socket path ", path, " is longer than ",
          sizeof address.sun_path - 1, " bytes; choose a shorter --runtime_dir");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

UniqueFd ConnectUnix(const std::string& path, int timeout_ms) {
  sockaddr_un address = UnixAddress(path);
  CheckSocketDirectory(path);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) ThrowErrno("can't make a socket for", path);
  // If the backlog is full, connect fails with EAGAIN, and no event reports when there is room. It
  // is therefore tried again and again.
  int error = EAGAIN;
  for (const auto start = Clock::now(); error == EAGAIN;) {
    const int rc = ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    error = rc == 0 ? 0 : errno;
    if (error == EAGAIN && SecondsSince(start) * 1000 > timeout_ms) break;
    if (error == EAGAIN) AwaitTime(std::chrono::milliseconds(5));
  }
  if (error == EINPROGRESS) error = FinishConnect(fd.get(), timeout_ms);
  if (error == EACCES) {
    Throw(ErrorCode::kDenied, "no permission for ", path,
          "; have --allow_read of its graphd name you, or join the group that owns the socket");
  }
  if (error != 0) {
    Throw(ErrorCode::kUnavailable, "no graphd answers at ", path, ": ", std::strerror(error),
          error == ENOENT         ? NoSocketHint(path)
          : error == ECONNREFUSED ? "; it has ended without a stop: see its log, and start it again"
                                  : "");
  }
  CheckListener(fd.get(), path);
  return fd;
}

}  // namespace graphd
