// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_thread.h"

#include <kj/async-io.h>

#include <future>

#include "base/log.h"

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

}  // namespace

DataThread::DataThread(ServiceContext& context, const DaemonInfo& info)
    : context_(context), info_(info) {
  std::promise<void> ready;
  auto is_ready = ready.get_future();
  thread_ = std::thread([this, &ready] {
    auto io = kj::setupAsyncIo();
    provider_ = io.lowLevelProvider.get();
    executor_ = kj::getCurrentThreadExecutor().addRef();
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    ready.set_value();
    stop.promise.wait(io.waitScope);
  });
  is_ready.wait();
}

DataThread::~DataThread() {
  stop_->fulfill();
  thread_.join();
}

kj::Promise<void> DataThread::Serve(UniqueFd fd, Peer peer) {
  return executor_->executeAsync([this, fd = std::move(fd),
                                  peer = std::move(peer)]() mutable -> kj::Promise<void> {
    const bool is_unix = peer.is_unix;
    auto service = kj::heap<DaemonService>(context_, info_, std::move(peer), scratch_);
    auto served = kj::heap<Served>(*provider_, std::move(fd), context_, kj::mv(service), is_unix);
    auto gone = served->connection.OnDisconnect();
    return gone.attach(kj::mv(served));
  });
}

}  // namespace graphd
