// SPDX-License-Identifier: Apache-2.0
#include "daemon/reloader.h"

#include <systemd/sd-daemon.h>
#include <time.h>

#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "daemon/changed_options.h"
#include "wire/connection.h"

namespace graphd {
namespace {

// Tells the service manager that a reload has begun. It then waits for READY=1.
void NotifyReloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
             static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
}

void LogChanges(const std::vector<ChangedOption>& changes) {
  for (const ChangedOption& change : changes) {
    const std::string what =
        StrCat(change.place.empty() ? "" : StrCat(change.place, ": "), change.key, " is '",
               change.after, "' now, and was '", change.before, "'");
    if (change.needs_restart) {
      LogWarning(what, "; this needs a restart");
    } else {
      LogInfo(what);
    }
  }
}

}  // namespace

Reloader::Reloader(const DaemonOptions& running, Read read, Apply apply, std::string status)
    : running_(running),
      log_level_(running.log_level),
      read_(std::move(read)),
      apply_(std::move(apply)),
      status_(std::move(status)),
      thread_([this] {
        while (!LogFailure("reloading the configuration", [this] { Run(); })) {
        }
      }) {}

Reloader::~Reloader() {
  std::deque<Waiting> dropped;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  wake_.NotifyAll();
  thread_.join();
  for (const Waiting& each : dropped) {
    if (!each.outcome) continue;
    each.outcome->fulfiller->reject(
        ToKj(Error(ErrorCode::kUnavailable, "this graphd is shutting down")));
  }
}

kj::Promise<std::vector<ChangedOption>> Reloader::Request(const std::string& by) {
  auto pair = kj::newPromiseAndCrossThreadFulfiller<void>();
  auto outcome = std::make_shared<Outcome>();
  outcome->fulfiller = kj::mv(pair.fulfiller);
  Put({by, outcome});
  return pair.promise.then([outcome] {
    const MutexLock lock(outcome->mutex);
    return std::move(outcome->changes);
  });
}

LogLevel Reloader::SetLogLevel(LogLevel level) noexcept {
  graphd::SetLogLevel(level);
  return log_level_.exchange(level);
}

void Reloader::RequestQuietly(const std::string& by) {
  LogFailure("reloading the configuration", [&] { Put({by, nullptr}); });
}

void Reloader::Put(Waiting waiting) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) Throw(ErrorCode::kUnavailable, "this graphd is shutting down");
    if (waiting_.size() >= kMostWaiting) {
      Throw(ErrorCode::kOverloaded, "the configuration is being read for ", waiting_.size(),
            " others already; try again");
    }
    waiting_.push_back(std::move(waiting));
  }
  wake_.NotifyOne();
}

void Reloader::Run() {
  for (;;) {
    Waiting request;
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && waiting_.empty()) wake_.Wait(mutex_);
      if (stopping_) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Serve(request);
  }
}

void Reloader::Serve(const Waiting& request) {
  NotifyReloading();
  try {
    Changes changes = Reload(request.by);
    sd_notifyf(0, "READY=1\nSTATUS=%s", status_.c_str());
    if (!request.outcome) return;
    {
      const MutexLock lock(request.outcome->mutex);
      request.outcome->changes = std::move(changes);
    }
    request.outcome->fulfiller->fulfill();
  } catch (...) {
    const Error error = CurrentError();
    LogError("the configuration was not reloaded, and nothing has changed: ", error.what());
    sd_notifyf(0, "READY=1\nSTATUS=the configuration was not reloaded: %s", error.what());
    if (request.outcome) request.outcome->fulfiller->reject(ToKj(error));
  }
}

Reloader::Changes Reloader::Reload(const std::string& by) {
  const DaemonOptions read = read_();
  DaemonOptions now = running_;
  now.log_level = log_level_;  // an operator may have set it
  Changes changes = CompareOptions(now, read);
  apply_(read);
  SetLogLevel(read.log_level);
  running_.max_connections = read.max_connections;
  running_.write_timeout = read.write_timeout;
  running_.hang_timeout = read.hang_timeout;
  running_.peer_memory = read.peer_memory;
  running_.index_memory = read.index_memory;
  running_.metrics_peers = read.metrics_peers;
  const bool insecure = running_.access.insecure;
  running_.access = read.access;
  running_.access.insecure = insecure;
  if (!read.log_file.empty()) running_.log_file = read.log_file;
  LogInfo({.peer = by, .op = "reload"}, by, " has reloaded the configuration",
          changes.empty() ? "; no option differs" : "");
  LogChanges(changes);
  return changes;
}

}  // namespace graphd
