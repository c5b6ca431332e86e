// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/drain.h"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "wire/status.h"

namespace graphd {
namespace {

constexpr auto kCheck = 20 * kj::MILLISECONDS;
constexpr auto kRequestCheck = 5 * kj::MILLISECONDS;
constexpr auto kStopTime = 500 * kj::MILLISECONDS;
constexpr double kReportSeconds = 0.25;
constexpr double kLogSeconds = 5;      // between two lines of the log; the first comes at once
constexpr double kTroubleSeconds = 5;  // without progress

int64_t NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

Drain::~Drain() {
  if (ending_.joinable()) ending_.join();
  if (writing_.joinable()) writing_.join();
}

void Drain::EndWithin(double seconds) noexcept {
  constexpr double kLongest = 1e9;
  const bool limited = seconds >= 0 && seconds < kLongest;
  end_at_ms_ = limited ? NowMs() + static_cast<int64_t>(seconds * 1000) : INT64_MAX;
}

// Calls f on a thread of its own. The promise is fulfilled when f has returned or failed; a failure
// is logged.
kj::Promise<void> Drain::RunOn(std::thread& thread, const char* what, std::function<void()> f) {
  auto done = kj::newPromiseAndCrossThreadFulfiller<void>();
  // The fulfiller is behind a pointer, because its destructor may throw.
  auto fulfiller = std::make_shared<decltype(done.fulfiller)>(kj::mv(done.fulfiller));
  thread = std::thread([what, f = std::move(f), fulfiller] {
    LogFailure(what, f);
    (*fulfiller)->fulfill();
  });
  return kj::mv(done.promise);
}

kj::Promise<bool> Drain::EndRequests(std::function<bool()> have_ended, std::function<void()> stop) {
  return AwaitRequests(std::move(have_ended), Clock::now() + kRequestSeconds)
      .then([this, stop = std::move(stop)]() mutable {
        auto stopped = RunOn(ending_, "the end of requests", std::move(stop));
        auto late = timer_.afterDelay(kStopTime).then([] { return false; });
        return stopped.then([] { return true; }).exclusiveJoin(kj::mv(late));
      });
}

kj::Promise<void> Drain::AwaitRequests(std::function<bool()> have_ended, Clock::time_point end) {
  if (have_ended() || NowMs() >= end_at_ms_ || Clock::now() >= end) return kj::READY_NOW;
  return timer_.afterDelay(kRequestCheck)
      .then([this, have_ended = std::move(have_ended), end]() mutable {
        return AwaitRequests(std::move(have_ended), end);
      });
}

kj::Promise<bool> Drain::Run() {
  start_ = moved_ = Clock::now();
  auto written = RunOn(writing_, "writing changed rows back", [this] { tensors_.WriteBackNow(); });
  auto late = Watch().then([] { return false; });
  return written
      .then([this] {
        const auto status = tensors_.status();
        if (status && status->written_bytes < status->changed_bytes) {
          LogWarning(WhatIsLeft());  // it has failed, and the log has the reason
        } else if (status && status->changed_bytes > 0) {
          LogInfo("changed rows are written back: ", HumanBytes(status->changed_bytes), " in ",
                  SecondsSince(start_), " s");
        }
        return true;
      })
      .exclusiveJoin(kj::mv(late));
}

kj::Promise<void> Drain::Watch() {
  if (NowMs() >= end_at_ms_) return kj::READY_NOW;
  if (SecondsSince(reported_) >= kReportSeconds && !Report()) return kj::READY_NOW;
  return timer_.afterDelay(kCheck).then([this] { return Watch(); });
}

bool Drain::Report() {
  const auto status = tensors_.status();
  if (!status || status->written_bytes == status->changed_bytes) return true;
  reported_ = Clock::now();
  const std::string text =
      StrCat("writing changed rows back: ",
             TransferText(status->written_bytes, status->changed_bytes, SecondsSince(start_)),
             status->trouble.empty() ? "" : "; ", status->trouble);
  sd_notifyf(0, "STATUS=stopping: %s", text.c_str());
  // The service manager kills a service that does not end in time. It is asked for more time only
  // while rows are written.
  if (status->written_bytes != written_) {
    sd_notify(0, "EXTEND_TIMEOUT_USEC=30000000");
    moved_ = reported_;
  }
  written_ = status->written_bytes;
  if (SecondsSince(logged_) >= kLogSeconds) {
    logged_ = reported_;
    LogInfo(text);
  }
  return status->trouble.empty() || SecondsSince(moved_) < kTroubleSeconds;
}

std::string Drain::WhatIsLeft() const {
  const auto status = tensors_.status();
  return status ? WhatIsNotWritten(*status) : std::string();
}

}  // namespace graphd
