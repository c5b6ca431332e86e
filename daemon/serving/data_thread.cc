// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/data_thread.h"

namespace graphd {
namespace {

// A connection and the service behind it.
struct Served {
  Served(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd, ServiceContext& context,
         kj::Own<DaemonService> service, bool is_unix)
      : impl(*service),
        connection(provider, std::move(fd), is_unix, context.buffers,
                   capnp::rpc::twoparty::Side::SERVER,
                   capnp::Capability::Client(wire::Daemon::Client(kj::mv(service)))) {
    impl.SetStream(connection.stream());
  }
  DaemonService& impl;
  Connection connection;
};

constexpr auto kIdleCheck = 1 * kj::SECONDS;

// Returns a promise that is fulfilled when the connection should be closed because it is idle.
kj::Promise<void> WhenIdle(kj::Timer& timer, const DaemonService& service) {
  return timer.afterDelay(kIdleCheck).then([&timer, &service]() -> kj::Promise<void> {
    if (service.is_attached()) return kj::NEVER_DONE;
    if (service.is_idle()) return kj::READY_NOW;
    return WhenIdle(timer, service);
  });
}

}  // namespace

kj::Promise<void> DataThread::Serve(UniqueFd fd, Peer peer) {
  return loop_.executor().executeAsync(
      [this, fd = std::move(fd), peer = std::move(peer)]() mutable -> kj::Promise<void> {
        const bool is_unix = peer.is_unix;
        auto service =
            kj::heap<DaemonService>(context_, info_, std::move(peer), scratch_, loop_.timer());
        auto served =
            kj::heap<Served>(loop_.provider(), std::move(fd), context_, kj::mv(service), is_unix);
        auto gone =
            served->connection.OnDisconnect().exclusiveJoin(WhenIdle(loop_.timer(), served->impl));
        return gone.attach(kj::mv(served));
      });
}

}  // namespace graphd
