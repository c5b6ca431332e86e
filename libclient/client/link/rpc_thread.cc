// SPDX-License-Identifier: Apache-2.0
#include "client/link/rpc_thread.h"

#include "base/strings.h"

namespace graphd {

RpcThread::RpcThread() : loop_([this] { tasks_ = nullptr; }) {
  Run([this] { tasks_ = kj::heap<kj::TaskSet>(ignore_errors_); });
}

// A call that was started. Only its tasks on the loop own it: if they are dropped, because the loop
// ends, the future gets an exception.
struct RpcThread::Call {
  std::promise<void> done;
  std::string what;
  std::function<void()> on_deadline;
  // Used on the loop only; removed there when the call ends.
  kj::Own<kj::PromiseFulfiller<void>> drop;
};

RpcThread::Pending RpcThread::Start(std::function<kj::Promise<void>()> call,
                                    std::chrono::milliseconds timeout, std::string what,
                                    std::function<void()> on_deadline) {
  process_.Check();
  auto started = std::make_shared<Call>();
  started->what = std::move(what);
  started->on_deadline = std::move(on_deadline);
  Pending pending(started->done.get_future(), [this, call = std::weak_ptr<Call>(started)] {
    loop_.RunAndWait([&] {
      const auto running = call.lock();
      if (running && running->drop) running->drop->reject(KJ_EXCEPTION(FAILED, "interrupted"));
    });
  });
  loop_.RunAndWait([&, started = std::move(started)] {
    auto expired =
        loop_.timer()
            .afterDelay(timeout.count() * kj::MILLISECONDS)
            .then([started, timeout]() -> kj::Promise<void> {
              if (started->on_deadline) started->on_deadline();
              return ToKj(Error(ErrorCode::kDeadline,
                                StrCat(started->what, ": no answer within ", timeout.count(),
                                       " ms; see with graphctl server status whether "
                                       "it is up, or wait longer (GRAPHD_TIMEOUT, or "
                                       "--timeout of graphctl checkpoint: seconds)")));
            });
    auto dropped = kj::newPromiseAndFulfiller<void>();
    started->drop = kj::mv(dropped.fulfiller);
    auto running = kj::evalNow([&] { return call(); })
                       .exclusiveJoin(kj::mv(expired))
                       .exclusiveJoin(kj::mv(dropped.promise));
    tasks_->add(running.then(
        [started] {
          started->drop = nullptr;
          started->done.set_value();
        },
        [started](kj::Exception&& exception) {
          started->drop = nullptr;
          started->done.set_exception(std::make_exception_ptr(FromKj(exception, started->what)));
        }));
  });
  return pending;
}

void RpcThread::Run(std::function<void()> function) {
  process_.Check();
  loop_.RunAndWait([&] { function(); });
}

}  // namespace graphd
