// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/uv_bridge.h"

#include <poll.h>

#include "base/log.h"

namespace graphd {
namespace {

void LogException(kj::Exception&& exception) {
  LogError("event loop: ", exception.getDescription().cStr());
}

}  // namespace

UvBridge::UvBridge(kj::UnixEventPort& port, uv_loop_t* loop)
    : port_(port),
      loop_(loop),
      observer_(port, uv_backend_fd(loop), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      kicks_(*this) {
  watching_ = Watch().eagerlyEvaluate(LogException);
  Kick();
}

void UvBridge::Kick() {
  if (kicked_ || in_uv_) return;
  kicked_ = true;
  // The turn runs last in the queue, so that a busy libuv loop does not keep RPC from running.
  kicks_.add(kj::evalLast([this] {
    kicked_ = false;
    Turn();
  }));
}

void UvBridge::taskFailed(kj::Exception&& exception) { LogException(kj::mv(exception)); }

kj::Promise<void> UvBridge::Watch() {
  return observer_.whenBecomesReadable().then([this] {
    Turn();
    return Watch();
  });
}

void UvBridge::Turn() {
  in_uv_ = true;
  uv_run(loop_, UV_RUN_NOWAIT);
  in_uv_ = false;
  turns_++;
  timer_ = nullptr;
  if (!uv_loop_alive(loop_)) return;
  pollfd readable{uv_backend_fd(loop_), POLLIN, 0};
  const int timeout_ms = uv_backend_timeout(loop_);
  if (::poll(&readable, 1, 0) > 0 || timeout_ms == 0) {
    Kick();
  } else if (timeout_ms > 0) {
    timer_ = port_.getTimer()
                 .afterDelay(timeout_ms * kj::MILLISECONDS)
                 .then([this] {
                   uv_update_time(loop_);
                   Kick();
                 })
                 .eagerlyEvaluate(LogException);
  }
}

}  // namespace graphd
