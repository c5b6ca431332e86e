// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_talk.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/failure.h"
#include "base/strings.h"
#include "ctl/doctor/port_check.h"
#include "ctl/plan/job_decision.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::milliseconds kTimeout{3000};

// Returns whether a later call may succeed although this one has failed with this error.
bool MayPass(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kDeadline ||
         code == ErrorCode::kOverloaded || code == ErrorCode::kIo;
}

}  // namespace

JobTalk::JobTalk(uv_loop_t* loop, const HostOrder& order, std::function<void()> on_news)
    : order_(order), on_news_(std::move(on_news)), async_(new uv_async_t{}) {
  const Meeting& meeting = order_.meeting;
  if (IsLocalAddress(meeting.address)) {
    const ServerSpec& server = order_.server;
    socket_ = SocketPath(server.runtime_dir.empty() ? RuntimeDir() : server.runtime_dir,
                         server.server_name, meeting.port);
  }
  record_.job_id = order_.job.job_id;
  record_.command = DisplayCommand(order_.job.command);
  record_.num_hosts = static_cast<uint32_t>(meeting.num_hosts);
  record_.max_restarts = static_cast<uint32_t>(order_.job.max_restarts);
  heard_.resize(static_cast<size_t>(meeting.num_hosts), Clock::now());
  // The sequence numbers begin with the time, so that they are larger than those of an earlier
  // supervisor of this job on this host.
  said_ = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count());
  async_->data = this;
  uv_async_init(loop, async_,
                [](uv_async_t* async) { static_cast<JobTalk*>(async->data)->on_news_(); });
  // The new thread inherits this mask: it blocks all signals, because the loop's thread handles
  // them.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (...) {
    const Error error = CurrentError();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    CloseAsync();  // the loop would wait for it
    throw error;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void JobTalk::CloseAsync() {
  uv_close(reinterpret_cast<uv_handle_t*>(async_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_async_t*>(handle); });
}

JobTalk::~JobTalk() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
  CloseAsync();
}

void JobTalk::Say(JobHost host) {
  const MutexLock lock(mutex_);
  host.sequence = ++said_;
  MergeHosts(news_.hosts, {host});
  record_.hosts = {std::move(host)};
  news_.told = false;
  wake_.NotifyAll();
}

JobTalk::News JobTalk::Latest() const {
  const MutexLock lock(mutex_);
  return news_;
}

double JobTalk::SecondsUnheard() const {
  const MutexLock lock(mutex_);
  return SecondsSince(sent_);
}

std::vector<JobHost> JobTalk::SilentHosts(double seconds) const {
  const MutexLock lock(mutex_);
  std::vector<JobHost> silent;
  if (news_.unreachable > 0) return silent;
  for (const JobHost& host : news_.hosts) {
    const bool other = host.host != static_cast<uint32_t>(order_.meeting.host);
    // The silence ends at the last answer of the daemon: whether hosts have reported since then is
    // not known yet.
    const std::chrono::duration<double> silence = answered_ - heard_[host.host];
    if (other && host.phase != JobPhase::kOver && silence.count() > seconds) silent.push_back(host);
  }
  return silent;
}

std::unique_ptr<ControlClient> JobTalk::Connect() const {
  const Meeting& meeting = order_.meeting;
  const ServerSpec& server = order_.server;
  if (!socket_.empty()) return ControlClient::ConnectUnix(socket_, kTimeout);
  ClientCredentials mine = ReadCredentials(server.keys, server.secret, server.server_name);
  return ControlClient::ConnectTcp(meeting.address, meeting.port, kTimeout, mine.keys.get(),
                                   mine.secret.get());
}

void JobTalk::Run() {
  std::unique_ptr<ControlClient> client;
  while (true) {
    JobRecord record;
    uint64_t said = 0;
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      // Every report gets a larger number, so that the other hosts know that this host lives.
      if (!record_.hosts.empty()) record_.hosts[0].sequence = ++said_;
      record = record_;
      said = said_;
    }
    const Clock::time_point sent = Clock::now();
    try {
      if (!client) client = Connect();
      Learn(client->Report(record, order_.job.secret), said, sent);
    } catch (const Error& error) {
      client.reset();
      NoteFailure(error);
    } catch (...) {
      client.reset();
      NoteFailure(CurrentError());
    }
    uv_async_send(async_);
    const MutexLock lock(mutex_);
    const auto next = Clock::now() + kPause;
    while (!ended_ && said_ == said && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

void JobTalk::Learn(const std::vector<JobHost>& hosts, uint64_t said, Clock::time_point sent) {
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  // While the daemon did not answer, no host could be heard, so this time is no silence.
  if (news_.unreachable > 0) std::fill(heard_.begin(), heard_.end(), now);
  for (const JobHost& host : hosts) {
    if (host.host == static_cast<uint32_t>(order_.meeting.host)) {
      // An earlier supervisor of this host may have used larger numbers, if the clock was ahead
      // then. With this, the next report gets a larger number than the last report of that
      // supervisor.
      said_ = std::max(said_, host.sequence);
    } else if (host.host < heard_.size() && MergeHosts(news_.hosts, {host})) {
      heard_[host.host] = now;
    }
  }
  answered_ = now;
  sent_ = sent;
  news_.unreachable = 0;
  news_.gone = 0;
  reached_ = {};
  news_.trouble.clear();
  news_.refusal.reset();
  news_.was_accepted = true;
  if (said == said_) news_.told = true;
}

// Returns whether the daemon may have ended with the job while this host was cut off.
bool JobTalk::MayHaveEnded() const {
  if (!order_.only_trainers || order_.job.min_trainers == 0) return false;
  const MutexLock lock(mutex_);
  return SecondsSince(answered_) > std::max(order_.server_grace, order_.meeting.host_timeout);
}

// Returns whether the machine of the daemon can be reached. Connecting to the daemon's port may
// take seconds, but delays no trainer, because this host has already ended its trainers when this
// is called.
bool JobTalk::IsMachineReached() const {
  return FindUnreachable({HostPort(order_.meeting.address, order_.meeting.port)}).empty();
}

void JobTalk::NoteFailure(const Error& error) {
  const bool is_reached = MayHaveEnded() && IsMachineReached();
  const MutexLock lock(mutex_);
  if (!is_reached || reached_ == Clock::time_point()) {
    reached_ = is_reached ? Clock::now() : Clock::time_point();
  }
  news_.gone = is_reached ? SecondsSince(reached_) : 0;
  news_.unreachable = std::max(SecondsSince(answered_), 1e-3);
  news_.trouble = error.what();
  if (MayPass(error.code())) return news_.refusal.reset();
  if (!news_.refusal) refused_ = Clock::now();
  news_.refusal = error;
  news_.refused = SecondsSince(refused_);
}

}  // namespace graphd::ctl
