// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/data_thread.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/log.h"
#include "daemon/serving/loop_watch.h"

namespace graphd {
namespace {

// A connection and the service behind it.
struct Served {
  Served(kj::Own<kj::AsyncIoStream> stream, kj::Timer& timer, ServiceContext& context,
         kj::Own<DaemonService> service, const Peer& peer,
         std::unique_ptr<LivingCertificates::Entry> living)
      : impl(*service),
        connection(kj::mv(stream), peer.is_unix, context.buffers,
                   capnp::rpc::twoparty::Side::SERVER,
                   capnp::Capability::Client(wire::Daemon::Client(kj::mv(service)))),
        entry(std::move(living)) {
    impl.SetConnection(connection);
    connection.stream().SetMemory(context.memory.OfUnattached(peer.text), timer);
  }
  DaemonService& impl;
  Connection connection;
  const std::unique_ptr<LivingCertificates::Entry> entry;  // destroyed before the connection
};

constexpr auto kIdleCheck = 1 * kj::SECONDS;

// Returns a promise that is fulfilled when the connection should be closed, because it is idle or
// reads nothing.
kj::Promise<void> WhenUseless(kj::Timer& timer, Served& served, std::string peer,
                              std::chrono::seconds write_timeout) {
  // A twentieth of the timeout, so that the limit is exact enough.
  const auto stall_check = std::max<int64_t>(write_timeout.count() * 50, 50) * kj::MILLISECONDS;
  const auto pause = served.impl.is_attached() ? stall_check : std::min(stall_check, kIdleCheck);
  return timer.afterDelay(pause).then(
      [&timer, &served, peer = std::move(peer), write_timeout]() mutable -> kj::Promise<void> {
        if (served.impl.is_idle()) return kj::READY_NOW;
        if (served.connection.stream().StalledFor() > write_timeout) {
          LogWarning("client ", peer, " has not read an answer for ", write_timeout.count(),
                     " s (--write_timeout); its connection is closed");
          return kj::READY_NOW;
        }
        return WhenUseless(timer, served, std::move(peer), write_timeout);
      });
}

}  // namespace

kj::Promise<void> DataThread::Serve(UniqueFd fd, Peer peer) {
  return loop_.executor().executeAsync(
      [this, fd = std::move(fd), peer = std::move(peer)]() mutable -> kj::Promise<void> {
        const int number = fd.get();
        auto socket = WrapSocket(loop_.provider(), std::move(fd), peer.is_unix);
        if (!peer.is_unix && context_.secret != nullptr) {
          return context_.secret->Accept(kj::mv(socket), std::move(peer), loop_.timer())
              .then([this](SecretServer::Accepted accepted) {
                return ServeStream(kj::mv(accepted.stream), std::move(accepted.peer), nullptr);
              });
        }
        if (peer.is_unix || context_.tls == nullptr) {
          return ServeStream(kj::mv(socket), std::move(peer), nullptr);
        }
        return context_.tls->Accept(kj::mv(socket), number, std::move(peer), loop_.timer())
            .then([this](TlsServer::Accepted accepted) {
              return ServeStream(kj::mv(accepted.stream), std::move(accepted.peer),
                                 std::move(accepted.entry));
            });
      });
}

kj::Promise<void> DataThread::ServeStream(kj::Own<kj::AsyncIoStream> stream, Peer peer,
                                          std::unique_ptr<LivingCertificates::Entry> entry) {
  kj::Timer& timer = loop_.timer();
  auto service = kj::heap<DaemonService>(context_, info_, peer, scratch_, timer);
  auto served =
      kj::heap<Served>(kj::mv(stream), timer, context_, kj::mv(service), peer, std::move(entry));
  auto gone = served->connection.OnDisconnect().exclusiveJoin(
      WhenUseless(timer, *served, std::move(peer.text), info_.write_timeout));
  return gone.attach(kj::mv(served));
}

kj::Promise<void> DataThread::Beat() {
  return loop_.executor().executeAsync([this] { return BeatOnLoop(); });
}

kj::Promise<void> DataThread::BeatOnLoop() {
  return loop_.timer().afterDelay(LoopWatch::kPeriod.count() * kj::SECONDS).then([this] {
    beats_.fetch_add(1, std::memory_order_relaxed);
    return BeatOnLoop();
  });
}

}  // namespace graphd
