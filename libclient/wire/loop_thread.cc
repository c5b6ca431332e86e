// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_thread.h"

#include <future>
#include <utility>

namespace graphd {

LoopThread::LoopThread(std::function<void()> last) {
  std::promise<void> ready;
  auto is_ready = ready.get_future();
  thread_ = std::thread([this, &ready, last = std::move(last)] {
    auto io = kj::setupAsyncIo();
    provider_ = io.lowLevelProvider.get();
    timer_ = &io.provider->getTimer();
    executor_ = kj::getCurrentThreadExecutor().addRef();
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    ready.set_value();
    stop.promise.wait(io.waitScope);
    if (last) last();
  });
  is_ready.wait();
}

LoopThread::~LoopThread() {
  stop_->fulfill();
  thread_.join();
}

}  // namespace graphd
