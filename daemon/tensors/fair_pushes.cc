// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/fair_pushes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/failure.h"

namespace graphd {

void FairPushes::Run(const JobShare& job, size_t bytes, Submit submit, Done done) {
  auto push = std::make_shared<Waiting>(Waiting{bytes, std::move(submit), std::move(done)});
  {
    const MutexLock lock(mutex_);
    if (stopped_) throw Error(ErrorCode::kUnavailable, "this graphd is shutting down");
    recent_[job.job].last = Clock::now();
    waiting_.Put(job, std::move(push));
  }
  SubmitNext();
}

bool FairPushes::MayRun(uint64_t job, bool alone) {
  const InStore& now = recent_[job];
  const size_t bytes = waiting_.Front(job)->bytes;
  return now.pushes == 0 || now.bytes + bytes <= (alone ? kAloneBytes : kSharedBytes);
}

void FairPushes::ForgetIdle() {
  if (recent_.size() < 2) return;
  std::erase_if(recent_, [&](const auto& entry) {
    mutex_.AssumeHeld();
    return entry.second.pushes == 0 && SecondsSince(entry.second.last) > kRecentSeconds &&
           waiting_.size_of(entry.first) == 0;
  });
}

void FairPushes::SubmitNext() {
  MutexLock lock(mutex_);
  // The store may call `done` at once, and `done` calls this function again.
  if (submitting_) return;
  submitting_ = true;
  ForgetIdle();
  for (;;) {
    const bool alone = recent_.size() < 2;
    const uint64_t job = waiting_.Next([&](uint64_t each) {
      mutex_.AssumeHeld();
      return MayRun(each, alone);
    });
    if (job == decltype(waiting_)::kNone) break;
    const std::shared_ptr<Waiting> push = waiting_.Front(job);
    const Turn turn = waiting_.Begin(job, false);
    InStore& in_store = recent_[job];
    in_store.pushes++;
    in_store.bytes += push->bytes;
    const MutexUnlock unlocked(mutex_);
    try {
      push->submit([self = shared_from_this(), push, turn](const Error* error) {
        self->End(turn, *push, error);
      });
    } catch (...) {
      const Error error = CurrentError();
      End(turn, *push, &error);
    }
  }
  submitting_ = false;
}

// Calls the callback of a push that has passed the store, and submits the next pushes.
void FairPushes::End(const Turn& turn, const Waiting& push, const Error* error) noexcept {
  {
    const MutexLock lock(mutex_);
    waiting_.End(turn, static_cast<double>(push.bytes));
    InStore& in_store = recent_[turn.job];
    in_store.pushes--;
    in_store.bytes -= push.bytes;
    in_store.last = Clock::now();
  }
  LogFailure("the end of a push", [&] { push.done(error); });
  SubmitNext();
}

void FairPushes::Stop() {
  std::vector<std::shared_ptr<Waiting>> dropped;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    waiting_.Drain([&](const auto& push) { dropped.push_back(push); });
  }
  const Error error(ErrorCode::kUnavailable, "this graphd is shutting down");
  for (const auto& push : dropped) push->done(&error);
}

}  // namespace graphd
