// SPDX-License-Identifier: Apache-2.0
#include "client/link/rpc_thread.h"

#include "base/strings.h"

namespace graphd {

RpcThread::RpcThread() : loop_([this] { tasks_ = nullptr; }) {
  Run([this] { tasks_ = kj::heap<kj::TaskSet>(ignore_errors_); });
}

RpcThread::Pending RpcThread::Start(std::function<kj::Promise<void>()> call,
                                    std::chrono::milliseconds timeout, std::string what,
                                    std::function<void()> on_deadline) {
  process_.Check();
  auto done = std::make_shared<std::promise<void>>();
  // Used on the loop only; removed there when the call ends.
  auto drop = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>();
  Pending pending(done->get_future(), [this, drop] {
    loop_.RunAndWait([&] {
      if (*drop) (*drop)->reject(KJ_EXCEPTION(FAILED, "interrupted"));
    });
  });
  loop_.RunAndWait([&] {
    auto expired = loop_.timer()
                       .afterDelay(timeout.count() * kj::MILLISECONDS)
                       .then([what, timeout, on_deadline]() -> kj::Promise<void> {
                         if (on_deadline) on_deadline();
                         return ToKj(Error(ErrorCode::kDeadline,
                                           StrCat(what, ": no answer within ", timeout.count(),
                                                  " ms; see with graphctl server status whether "
                                                  "it is up, or wait longer (GRAPHD_TIMEOUT, or "
                                                  "--timeout of graphctl checkpoint: seconds)")));
                       });
    auto dropped = kj::newPromiseAndFulfiller<void>();
    *drop = kj::mv(dropped.fulfiller);
    auto running = kj::evalNow([&] { return call(); })
                       .exclusiveJoin(kj::mv(expired))
                       .exclusiveJoin(kj::mv(dropped.promise));
    tasks_->add(running.then(
        [done, drop] {
          *drop = nullptr;
          done->set_value();
        },
        [done, drop, what](kj::Exception&& exception) {
          *drop = nullptr;
          done->set_exception(std::make_exception_ptr(FromKj(exception, what)));
        }));
  });
  return pending;
}

void RpcThread::Run(std::function<void()> function) {
  process_.Check();
  loop_.RunAndWait([&] { function(); });
}

}  // namespace graphd
