// SPDX-License-Identifier: Apache-2.0
#include "daemon/main_loop.h"

#include <utility>

#include "base/failure.h"

namespace graphd {

MainLoop::MainLoop() : io_(kj::setupAsyncIo()) {
  uv_loop_init(&loop_);
  bridge_ = kj::heap<UvBridge>(io_.unixEventPort, &loop_);
}

MainLoop::~MainLoop() {
  for (Handle& each : handles_) uv_close(&each.uv.handle, nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  bridge_ = nullptr;
  uv_loop_close(&loop_);
}

void MainLoop::Handle::Call(void* data) noexcept {
  LogFailure("a signal or a timer", static_cast<Handle*>(data)->callback);
}

MainLoop::Handle& MainLoop::AddHandle(std::function<void()> callback) {
  Handle& added = handles_.emplace_back();
  added.callback = std::move(callback);
  return added;
}

void MainLoop::OnSignal(int number, std::function<void()> callback) {
  Handle& added = AddHandle(std::move(callback));
  uv_signal_init(&loop_, &added.uv.signal);
  added.uv.signal.data = &added;
  uv_signal_start(
      &added.uv.signal, [](uv_signal_t* handle, int) { Handle::Call(handle->data); }, number);
  bridge_->Kick();
}

void MainLoop::OnTimer(std::chrono::milliseconds first, std::chrono::milliseconds period,
                       std::function<void()> callback) {
  Handle& added = AddHandle(std::move(callback));
  uv_timer_init(&loop_, &added.uv.timer);
  added.uv.timer.data = &added;
  uv_timer_start(
      &added.uv.timer, [](uv_timer_t* handle) { Handle::Call(handle->data); },
      static_cast<uint64_t>(first.count()), static_cast<uint64_t>(period.count()));
  bridge_->Kick();
}

std::function<void()> MainLoop::OnWake(std::function<void()> callback) {
  Handle& added = AddHandle(std::move(callback));
  uv_async_init(&loop_, &added.uv.async, [](uv_async_t* handle) { Handle::Call(handle->data); });
  added.uv.async.data = &added;
  bridge_->Kick();
  return [handle = &added.uv.async] { uv_async_send(handle); };
}

kj::Promise<void> MainLoop::Repeat(std::chrono::milliseconds period,
                                   std::function<void()> callback) {
  return RepeatLoop(period, std::move(callback)).eagerlyEvaluate(nullptr);
}

kj::Promise<void> MainLoop::RepeatLoop(std::chrono::milliseconds period,
                                       std::function<void()> callback) {
  return timer()
      .afterDelay(period.count() * kj::MILLISECONDS)
      .then([this, period, callback = std::move(callback)]() mutable {
        LogFailure("a repeated task", callback);
        return RepeatLoop(period, std::move(callback));
      });
}

}  // namespace graphd
