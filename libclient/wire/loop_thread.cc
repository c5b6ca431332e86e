// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_thread.h"

#include <exception>
#include <utility>

#include "base/failure.h"
#include "base/threads/run_threads.h"
#include "wire/connection.h"
#include "wire/run_until.h"

namespace graphd {
namespace {

// The number of events after which the loop looks for new data and for the time, even if events are
// left: peers that send without a pause must not keep others waiting.
constexpr kj::uint kEventsBetweenPolls = 100;

}  // namespace

LoopThread::LoopThread(std::function<void()> last) {
  std::promise<void> ready;
  auto is_ready = ready.get_future();
  thread_ = std::thread([this, &ready, last = std::move(last)] {
    RequestShortSlices();
    bool is_running = false;
    LogFailure("event loop", [&] {
      try {
        Run(ready, is_running, last);
      } catch (const kj::Exception& exception) {
        if (is_running) throw;
        // KJ says "overloaded" if descriptors have run out.
        ready.set_exception(std::make_exception_ptr(FromKj(exception, "an event loop")));
      } catch (...) {
        if (is_running) throw;
        ready.set_exception(std::make_exception_ptr(CurrentError()));
      }
    });
  });
  try {
    is_ready.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

void LoopThread::Run(std::promise<void>& ready, bool& is_running,
                     const std::function<void()>& last) {
  auto io = kj::setupAsyncIo();
  io.waitScope.setBusyPollInterval(kEventsBetweenPolls);
  provider_ = io.lowLevelProvider.get();
  timer_ = &io.provider->getTimer();
  events_ = &io.unixEventPort;
  executor_ = kj::getCurrentThreadExecutor().addRef();
  auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
  stop_ = kj::mv(stop.fulfiller);
  auto end = kj::defer([&last] {  // it is called even if the loop fails
    if (last) last();
  });
  is_running = true;  // `ready` may be destroyed once it has its value
  ready.set_value();
  RunUntil(kj::mv(stop.promise), io.waitScope);
}

LoopThread::~LoopThread() {
  stop_->fulfill();
  thread_.join();
}

}  // namespace graphd
