// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/data_thread.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/serving/served_connection.h"

namespace graphd {
namespace {

// The longest pause between two checks, after which an idle client and one without its right go.
constexpr auto kIdleCheck = 1 * kj::SECONDS;
// The cost of a step of a TLS handshake, which takes some 0.2 ms, and of opening and closing a
// connection.
constexpr size_t kStepCost = 8 * LoopTurns::kPieceBytes, kOpeningCost = 4 * LoopTurns::kPieceBytes;

// Returns the share of a client in the event loop before it has attached.
JobShare ShareOf(const Peer& peer) { return LoopTurns::ShareOfStrangers(peer.Source()); }

// Returns a promise that is fulfilled when the connection should be closed, because its client is
// idle or does not read answers. Shuts down the socket if the client has lost the right to read.
kj::Promise<void> WhenUseless(kj::Timer& timer, ServedConnection& served, std::string peer,
                              const DaemonInfo& info, int socket) {
  const std::chrono::seconds write_timeout = info.write_timeout.load(std::memory_order_relaxed);
  // The check is made every twentieth of the timeout at least, so that the limit is exact enough.
  const auto stall_check = std::max<int64_t>(write_timeout.count() * 50, 50) * kj::MILLISECONDS;
  const auto pause = std::min(stall_check, kIdleCheck);
  return timer.afterDelay(pause).then([&timer, &served, peer = std::move(peer), &info, socket,
                                       write_timeout]() mutable -> kj::Promise<void> {
    if (served.service().is_idle()) return kj::READY_NOW;
    if (served.connection().stream().StalledFor() > write_timeout) {
      LogWarning({.peer = peer, .op = "connection"}, "client ", peer,
                 " has not read an answer for ", write_timeout.count(),
                 " s (--write_timeout); its connection is closed");
      return kj::READY_NOW;
    }
    if (served.service().has_lost_access()) {
      LogInfo({.peer = peer, .op = "connection"}, "client ", peer,
              " may no longer read this graph; its connection is closed");
      ::shutdown(socket, SHUT_RDWR);
      return kj::NEVER_DONE;
    }
    return WhenUseless(timer, served, std::move(peer), info, socket);
  });
}

}  // namespace

kj::Promise<void> DataThread::Serve(UniqueFd fd, Peer peer,
                                    std::shared_ptr<OpenConnection> connection) {
  return loop_.executor().executeAsync([this, fd = std::move(fd), peer = std::move(peer),
                                        connection = std::move(connection)]() mutable {
    auto end = kj::newPromiseAndFulfiller<void>();
    if (connection->gives_way()) end.fulfiller->fulfill();  // End was called before
    connection->end = kj::mv(end.fulfiller);
    auto ended = kj::defer([connection] { connection->end = nullptr; });
    const JobShare share = ShareOf(peer);
    return Turns()
        .Run(share, kOpeningCost,
             [this, fd = std::move(fd), peer = std::move(peer), connection]() mutable {
               return ServeSocket(std::move(fd), std::move(peer), std::move(connection));
             })
        .exclusiveJoin(kj::mv(end.promise))
        .attach(kj::mv(ended));
  });
}

kj::Promise<void> DataThread::End(std::shared_ptr<OpenConnection> connection) {
  return loop_.executor().executeAsync([connection = std::move(connection)] {
    KJ_IF_MAYBE (end, connection->end) (*end)->fulfill();
  });
}

kj::Promise<void> DataThread::ServeSocket(UniqueFd fd, Peer peer,
                                          std::shared_ptr<OpenConnection> connection) {
  const int number = fd.get();
  auto socket = WrapSocket(loop_.provider(), std::move(fd), peer.is_unix);
  if (!peer.is_unix && context_.secret != nullptr) {
    return context_.secret->Accept(kj::mv(socket), std::move(peer), loop_.timer())
        .then([this, connection = std::move(connection),
               number](SecretServer::Accepted accepted) mutable {
          return ServeStream(kj::mv(accepted.stream), std::move(accepted.peer), nullptr, number,
                             std::move(connection));
        });
  }
  if (peer.is_unix || context_.tls == nullptr) {
    return ServeStream(kj::mv(socket), std::move(peer), nullptr, number, std::move(connection));
  }
  auto turn = [&turns = Turns(), share = ShareOf(peer)] { return turns.Take(share, kStepCost); };
  return context_.tls->Accept(kj::mv(socket), number, std::move(peer), loop_.timer(), kj::mv(turn))
      .then(
          [this, connection = std::move(connection), number](TlsServer::Accepted accepted) mutable {
            return ServeStream(kj::mv(accepted.stream), std::move(accepted.peer),
                               std::move(accepted.entry), number, std::move(connection));
          });
}

LoopTurns& DataThread::Turns() {
  if (!turns_) turns_.emplace(loop_.timer());
  return *turns_;
}

kj::Promise<void> DataThread::ServeStream(kj::Own<kj::AsyncIoStream> stream, Peer peer,
                                          std::unique_ptr<LivingCertificates::Entry> entry,
                                          int number, std::shared_ptr<OpenConnection> connection) {
  kj::Timer& timer = loop_.timer();
  auto service = kj::heap<DaemonService>(context_, info_, peer, scratch_, timer, Turns(),
                                         [connection] { return connection->Stay(); });
  auto served = kj::heap<ServedConnection>(kj::mv(stream), timer, context_, kj::mv(service), peer,
                                           std::move(entry));
  served->connection().stream().TakeTurns(Turns(), ShareOf(peer));
  // The calls of the connection may be writing answers. The socket is therefore shut down, so that
  // the connection ends as if the peer had closed it.
  auto ending = served->service()
                    .WhenEnded()
                    .then([number] { ::shutdown(number, SHUT_RDWR); })
                    .eagerlyEvaluate(nullptr);
  auto gone = served->connection().OnDisconnect().exclusiveJoin(
      WhenUseless(timer, *served, peer.LogName(), info_, number));
  return gone.attach(kj::mv(ending), kj::mv(served));
}

}  // namespace graphd
