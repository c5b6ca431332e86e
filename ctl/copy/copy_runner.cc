// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/copy_runner.h"

#include <algorithm>
#include <thread>

#include "base/strings.h"
#include "ctl/copy/find_sources.h"
#include "ctl/ssh/ssh_stream.h"
#include "ctl/terminal/progress_line.h"

namespace graphd::ctl {

using Step = HostProgress::Step;

CopyRunner::CopyRunner(const CopyPlan& plan, const CopyOptions& options,
                       CancellableThreads& threads)
    : plan_(plan),
      options_(options),
      threads_(threads),
      checksums_(plan.files.size()),
      results_(plan.hosts.size()),
      board_(plan),
      asked_(plan.hosts.size()),
      ended_(plan.hosts.size()) {}

int CopyRunner::Jobs() const {
  if (options_.jobs > 0) return options_.jobs;
  return std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

void CopyRunner::ChecksumSources() {
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::optional<Error> error;
  uint64_t total = 0;
  for (const CopyFile& file : plan_.files) total += file.source.size;
  const int threads = std::min(Jobs(), static_cast<int>(plan_.files.size()));
  for (int i = 0; i < threads; i++) {
    threads_.Start([&] {
      try {
        for (size_t f; (f = next++) < plan_.files.size();) {
          checksums_[f] = ChecksumSource(plan_.files[f], done, threads_.cancelled());
        }
      } catch (const Error& caught) {
        next = plan_.files.size();
        const MutexLock lock(mutex_);
        if (!error) error = caught;
      }
    });
  }
  ProgressLine line;
  threads_.Wait([&] { line.Show("checking the local files", done, total); });
  if (error) throw *error;
}

void CopyRunner::Run() {
  for (size_t host = 0; host < plan_.hosts.size(); host++) {
    threads_.Start([this, host] { CopyTo(host); });
  }
  threads_.Wait([this] {
    for (size_t host = 0; host < results_.size(); host++)
      board_.Show(host, results_[host].progress);
    board_.Draw();
  });
}

void CopyRunner::CopyTo(size_t host) {
  const CopyHost& to = plan_.hosts[host];
  HostResult& result = results_[host];
  bool listed = false;
  try {
    const auto open = [&] {
      return to.is_local
                 ? OpenLocalStream(options_.graphctl, "receive")
                 : OpenSshStream(to.address, options_.remote_graphctl, "receive", options_.ssh,
                                 [this] { return threads_.cancelled().load(); });
    };
    const CopyTimeouts timeouts{.silence = to.is_local ? 0 : options_.ssh.host_timeout,
                                .stall = options_.stall_timeout};
    HostCopy copy(plan_, to, checksums_, open, timeouts, threads_.cancelled(), result.progress,
                  [&](const std::string& line) { board_.AddNoise(to.name, line); });
    copy.List();
    listed = true;
    const bool has_turn = AwaitTurn(host, copy);
    if (has_turn) copy.Send(options_.verify);
    result.progress.step = has_turn ? Step::kDone : Step::kSkipped;
  } catch (const Error& error) {
    result.error = error;
  } catch (const std::exception& error) {  // an answer with unexpected types
    result.error = Error(ErrorCode::kCorrupt, error.what());
  }
  if (result.error) result.progress.step = Step::kFailed;
  const MutexLock lock(mutex_);
  if (!listed) asked_--;
  if (!listed) any_failed_ = true;
  ended_[host] = true;
  changed_.NotifyAll();
}

// Returns whether files may be sent to this machine now: fewer than Jobs() of the machines before
// it, in the order of ip_config, are unfinished.
bool CopyRunner::IsTurnOf(size_t host) const {
  const auto before = ended_.begin() + static_cast<std::ptrdiff_t>(host);
  return std::count(ended_.begin(), before, false) < Jobs();
}

// Waits until every machine has answered and it is this machine's turn. Returns false if nothing
// may be sent.
bool CopyRunner::AwaitTurn(size_t host, HostCopy& copy) {
  MutexLock lock(mutex_);
  asked_--;
  changed_.NotifyAll();
  while (asked_ > 0 || (!any_failed_ && !IsTurnOf(host))) {
    changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
    lock.Unlock();
    copy.KeepAlive();
    lock.Lock();
  }
  return !any_failed_;
}

}  // namespace graphd::ctl
