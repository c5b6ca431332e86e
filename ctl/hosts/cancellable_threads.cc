// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/cancellable_threads.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "base/strings.h"
#include "ctl/terminal/signals.h"

namespace graphd::ctl {
namespace {

constexpr int kTick = 100;               // milliseconds
constexpr double kThreadEndSeconds = 3;  // seconds that threads have to end after a signal

double Now() { return SecondsSince(Clock::time_point{}); }

}  // namespace

CancellableThreads::CancellableThreads()
    : signals_(WatchSignals()), ended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!ended_) ThrowErrno("can't create", "an eventfd");
}

CancellableThreads::~CancellableThreads() {
  LogFailure("a thread", [this] { Wait({}); });
}

void CancellableThreads::Start(std::function<void()> work) {
  running_++;
  try {
    threads_.emplace_back([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        const MutexLock lock(mutex_);
        if (!failure_) failure_ = CurrentError();
        cancelled_ = true;
      }
      running_--;
      const uint64_t one = 1;
      [[maybe_unused]] ssize_t written = ::write(ended_.get(), &one, sizeof one);
    });
  } catch (const std::system_error& error) {
    const size_t others = --running_;
    cancelled_ = true;
    AwaitEnd({});
    Throw(ErrorCode::kOverloaded, "can't start another thread beside ", others,
          " running ones: ", error.what(),
          "; raise the limit of processes (ulimit -u, or the container's)");
  }
}

void CancellableThreads::Wait(const std::function<void()>& tick) {
  AwaitEnd(tick);
  const MutexLock lock(mutex_);
  if (failure_) throw Error(*std::exchange(failure_, std::nullopt));
}

void CancellableThreads::AwaitEnd(const std::function<void()>& tick) {
  while (running_ > 0) {
    pollfd inputs[2] = {{signals_.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}};
    ::poll(inputs, 2, kTick);
    uint64_t count;
    [[maybe_unused]] ssize_t got = ::read(ended_.get(), &count, sizeof count);
    ReadSignals();
    if (tick) tick();
    if (signal_ != 0 && Now() - cancelled_at_ > kThreadEndSeconds) ::_exit(128 + signal_);
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (tick) tick();
}

void CancellableThreads::ReadSignals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (signal_ != 0) ::_exit(128 + signal_);
    signal_ = static_cast<int>(info.ssi_signo);
    cancelled_at_ = Now();
    cancelled_ = true;
  }
}

}  // namespace graphd::ctl
