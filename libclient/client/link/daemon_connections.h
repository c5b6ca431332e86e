// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "client/link/daemon_link.h"
#include "wire/graph_messages.h"

namespace graphd {

// Lets a bounded number of calls through at once; the others wait their turn. On the RPC thread.
class Gate : public std::enable_shared_from_this<Gate> {
 public:
  explicit Gate(size_t max_running) : max_running_(max_running) {}
  // Runs f, which returns a promise, when there is room.
  template <class F>
  kj::Promise<void> Run(F f) {
    return Enter().then([self = shared_from_this(), f = kj::mv(f)]() mutable {
      return f().attach(kj::defer([self] { self->Leave(); }));
    });
  }

 private:
  kj::Promise<void> Enter() {
    if (running_ < max_running_) {
      running_++;
      return kj::READY_NOW;
    }
    auto pair = kj::newPromiseAndFulfiller<void>();
    waiting_.push_back(kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }
  void Leave() {
    // The place goes to the next that still wants it.
    while (!waiting_.empty()) {
      auto next = kj::mv(waiting_.front());
      waiting_.pop_front();
      if (next->isWaiting()) return next->fulfill();
    }
    running_--;
  }
  size_t max_running_, running_ = 0;
  std::deque<kj::Own<kj::PromiseFulfiller<void>>> waiting_;
};

// Sets `to` to a copy of the segment's descriptor, if the daemon sent one. Keeps the handle until
// then; `to` must live as long.
inline kj::Promise<void> TakeDescriptor(wire::SegmentHandle::Client handle, UniqueFd& to) {
  auto descriptor = handle.getFd();
  return descriptor
      .then([&to](kj::Maybe<int> number) {
        KJ_IF_MAYBE (n, number) {
          to = UniqueFd(::fcntl(*n, F_DUPFD_CLOEXEC, 0));
        }
      })
      .attach(kj::mv(handle));
}

// The connections of a DaemonLink; touched on the RPC thread only.
struct DaemonLink::Connections {
  // Below what a daemon lets one session have in flight.
  static constexpr size_t kMaxRunning = 128;

  struct Attached {
    Attached(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd, bool is_unix,
             std::shared_ptr<BufferPool> buffers, std::function<void()> lost)
        : connection(provider, std::move(fd), is_unix, std::move(buffers),
                     capnp::rpc::twoparty::Side::CLIENT, nullptr),
          daemon(connection.Bootstrap()),
          gone(connection.OnDisconnect()
                   .then([lost = std::move(lost)] { lost(); })
                   .eagerlyEvaluate(nullptr)) {}
    // Sends the attach of a member with this role.
    auto Attach(const Options& options, JobRole role, bool want_segments) {
      auto request = daemon.attachRequest();
      WriteHello(request.initHello());
      request.setServerName(options.server_name);
      request.setWantSegments(want_segments);
      JobMember member;
      member.job_id = options.job_id;
      member.role = role;
      member.rank = options.rank;
      member.world_size = options.world_size;
      WriteMember(member, request.initMember());
      return request.send();
    }
    Connection connection;
    wire::Daemon::Client daemon;
    kj::Promise<void> gone;
    kj::Maybe<wire::Session::Client> session;
    std::shared_ptr<Gate> gate = std::make_shared<Gate>(kMaxRunning);
  };
  std::unique_ptr<Attached> small, bulk;
  bool lost = false;  // one of them
};

}  // namespace graphd
