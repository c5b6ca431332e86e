// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/data_thread.h"

#include <chrono>
#include <string>

#include "base/log.h"

namespace graphd {
namespace {

// A connection and the service behind it.
struct Served {
  Served(kj::LowLevelAsyncIoProvider& provider, kj::Timer& timer, UniqueFd fd,
         ServiceContext& context, kj::Own<DaemonService> service, const Peer& peer)
      : impl(*service),
        connection(provider, std::move(fd), peer.is_unix, context.buffers,
                   capnp::rpc::twoparty::Side::SERVER,
                   capnp::Capability::Client(wire::Daemon::Client(kj::mv(service)))) {
    impl.SetStream(connection.stream());
    connection.stream().SetMemory(context.memory.OfStranger(peer.text), timer);
  }
  DaemonService& impl;
  Connection connection;
};

constexpr auto kIdleCheck = 1 * kj::SECONDS;
constexpr auto kStallCheck = 30 * kj::SECONDS;
// A peer that does not read all of an answer in this time keeps memory for nothing.
constexpr auto kMaxStall = std::chrono::minutes(10);

// Returns a promise that is fulfilled when the connection should be closed, because it is idle or
// reads nothing.
kj::Promise<void> WhenUseless(kj::Timer& timer, Served& served, std::string peer) {
  const auto pause = served.impl.is_attached() ? kStallCheck : kIdleCheck;
  return timer.afterDelay(pause).then(
      [&timer, &served, peer = std::move(peer)]() mutable -> kj::Promise<void> {
        if (served.impl.is_idle()) return kj::READY_NOW;
        if (served.connection.stream().StalledFor() > kMaxStall) {
          LogWarning("client ", peer, " has not read an answer for ", kMaxStall.count(),
                     " minutes; its connection is closed");
          return kj::READY_NOW;
        }
        return WhenUseless(timer, served, std::move(peer));
      });
}

}  // namespace

kj::Promise<void> DataThread::Serve(UniqueFd fd, Peer peer) {
  return loop_.executor().executeAsync([this, fd = std::move(fd),
                                        peer = std::move(peer)]() mutable -> kj::Promise<void> {
    kj::Timer& timer = loop_.timer();
    auto service = kj::heap<DaemonService>(context_, info_, peer, scratch_, timer);
    auto served =
        kj::heap<Served>(loop_.provider(), timer, std::move(fd), context_, kj::mv(service), peer);
    auto gone = served->connection.OnDisconnect().exclusiveJoin(
        WhenUseless(timer, *served, std::move(peer.text)));
    return gone.attach(kj::mv(served));
  });
}

}  // namespace graphd
