// SPDX-License-Identifier: Apache-2.0
#include "client/rpc_thread.h"

#include "base/strings.h"

namespace graphd {

RpcThread::RpcThread() {
  std::promise<void> ready;
  auto is_ready = ready.get_future();
  thread_ = std::thread([this, &ready] {
    auto io = kj::setupAsyncIo();
    IgnoreErrors errors;
    kj::TaskSet tasks(errors);
    provider_ = io.lowLevelProvider.get();
    timer_ = &io.provider->getTimer();
    tasks_ = &tasks;
    executor_ = kj::getCurrentThreadExecutor().addRef();
    auto stop = kj::newPromiseAndCrossThreadFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    ready.set_value();
    stop.promise.wait(io.waitScope);
  });
  is_ready.wait();
}

RpcThread::~RpcThread() {
  stop_->fulfill();
  thread_.join();
}

RpcThread::Pending RpcThread::Start(std::function<kj::Promise<void>()> call,
                                    std::chrono::milliseconds timeout, std::string what) {
  auto done = std::make_shared<std::promise<void>>();
  Pending pending(done->get_future());
  executor_->executeSync([&] {
    auto expired = timer_->afterDelay(timeout.count() * kj::MILLISECONDS)
                       .then([what, timeout]() -> kj::Promise<void> {
                         return ToKj(Error(ErrorCode::kDeadline,
                                           StrCat(what, ": no answer within ", timeout.count(),
                                                  " ms (GRAPHD_TIMEOUT)")));
                       });
    auto running = kj::evalNow([&] { return call(); }).exclusiveJoin(kj::mv(expired));
    tasks_->add(running.then([done] { done->set_value(); },
                             [done, what](kj::Exception&& exception) {
                               done->set_exception(
                                   std::make_exception_ptr(FromKj(exception, what)));
                             }));
  });
  return pending;
}

void RpcThread::Run(std::function<void()> function) {
  executor_->executeSync([&] { function(); });
}

}  // namespace graphd
