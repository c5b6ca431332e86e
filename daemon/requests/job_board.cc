// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_board.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/strings.h"
#include "daemon/requests/job_registry.h"
#include "wire/status.h"

namespace graphd {
namespace {

// A new process does not take over the record of a job that has been silent for this time.
constexpr double kForgottenSeconds = 30.0 * 86400;

double SecondsNow() { return static_cast<double>(MicrosecondsNow()) * 1e-6; }

// Replaces the bytes of a client's text that could harm the terminals of other users, and truncates
// it.
void Clean(std::string& text, size_t size) {
  // An assignment would keep the memory of a text that may be large.
  if (!IsUtf8(text)) std::string("?").swap(text);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  Truncate(text, size);
}

void Check(const JobRecord& record) {
  if (record.job_id.empty() || record.job_id.size() > kMaxJobId || !IsUtf8(record.job_id)) {
    Throw(ErrorCode::kInvalid, "a report has to name its job by an id of 1 to ", kMaxJobId,
          " bytes of UTF-8; this id has ", record.job_id.size(), " bytes");
  }
  if (record.num_hosts < 1 || record.num_hosts > JobBoard::kMaxHosts) {
    Throw(ErrorCode::kInvalid, "job ", record.job_id, " is on ", record.num_hosts,
          " hosts; a job that works without its launcher may have 1 to ", JobBoard::kMaxHosts);
  }
  for (const JobHost& host : record.hosts) {
    if (host.host >= record.num_hosts) {
      Throw(ErrorCode::kInvalid, "a report of job ", record.job_id, " is about host ", host.host,
            " of ", record.num_hosts);
    }
    const bool has_plan = !host.trainers.empty() || !host.away.empty();
    if (has_plan && (host.host != 0 || host.trainers.size() > JobBoard::kMaxSlots ||
                     host.away.size() > record.num_hosts)) {
      Throw(ErrorCode::kInvalid, "a report of job ", record.job_id, " has a plan of host ",
            host.host, " for ", host.trainers.size(), " places of trainers and without ",
            host.away.size(), " hosts; the first host plans at most ", JobBoard::kMaxSlots,
            " places");
    }
  }
}

}  // namespace

std::vector<JobHost> JobBoard::Report(JobRecord record, const std::string& secret,
                                      const Peer& peer) {
  Check(record);
  JobRegistry::CheckSizes(record.job_id, secret);
  Clean(record.command, kMaxCommand);
  JobCredentials credentials = JobCredentials::Of(record.job_id, secret, peer);
  const MutexLock lock(mutex_);
  bool changed = !jobs_.contains(record.job_id);
  Job& job = FindOrAdd(record, std::move(credentials));
  job.reported = Clock::now();
  for (JobHost& host : record.hosts) changed = Take(std::move(host), job) || changed;
  if (changed && on_change_) on_change_();
  return HostsOf(job);
}

JobBoard::Job& JobBoard::FindOrAdd(const JobRecord& record, JobCredentials credentials) {
  auto found = jobs_.find(record.job_id);
  if (found == jobs_.end()) {
    MakeRoom(credentials, record.num_hosts);
    found = jobs_.try_emplace(record.job_id).first;
    found->second.credentials = std::move(credentials);
    found->second.record = {
        record.job_id, record.command, record.num_hosts, record.max_restarts, 0, {}};
  } else {
    found->second.credentials.Require(credentials, record.job_id);
  }
  if (record.num_hosts != found->second.record.num_hosts) {
    Throw(ErrorCode::kInvalid, "job ", record.job_id, " is on ", found->second.record.num_hosts,
          " hosts, but a report says ", record.num_hosts);
  }
  return found->second;
}

bool JobBoard::Take(JobHost host, Job& job) {
  Clean(host.name, kMaxName);
  Clean(host.reason, kMaxReason);
  const auto known = job.hosts.find(host.host);
  if (known == job.hosts.end()) {
    job.hosts.emplace(host.host, std::move(host));
    return true;
  }
  if (known->second.sequence >= host.sequence) return false;
  // A host sends an unchanged report again, with a larger number, so that others know that it
  // lives.
  known->second.sequence = host.sequence;
  if (known->second == host) return false;
  known->second = std::move(host);
  return true;
}

void JobBoard::MakeRoom(const JobCredentials& owner, size_t num_hosts) {
  while (true) {
    size_t jobs = 0, hosts = num_hosts, all_hosts = num_hosts;
    for (const auto& [id, job] : jobs_) {
      all_hosts += job.record.num_hosts;
      if (!job.credentials.IsSamePeer(owner)) continue;
      jobs++;
      hosts += job.record.num_hosts;
    }
    if (jobs >= kMaxJobs) {
      DropOldest(&owner, StrCat(kMaxJobs, " jobs of this user"));
    } else if (hosts > kMaxHostsOfUser) {
      DropOldest(&owner, StrCat("this user's jobs on ", kMaxHostsOfUser, " hosts"));
    } else if (all_hosts > kMaxHostsOfAll) {
      DropOldest(nullptr, StrCat("jobs on ", kMaxHostsOfAll, " hosts"));
    } else {
      return;
    }
  }
}

void JobBoard::DropOldest(const JobCredentials* owner, const std::string& kept) {
  auto oldest = jobs_.end();
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    if (owner != nullptr && !job->second.credentials.IsSamePeer(*owner)) continue;
    if (oldest == jobs_.end() || job->second.reported < oldest->second.reported) oldest = job;
  }
  if (oldest == jobs_.end() || SecondsSince(oldest->second.reported) < kSilentSeconds) {
    Throw(ErrorCode::kOverloaded, "this graphd keeps the records of at most ", kept,
          " that have reported within ", kSilentSeconds,
          " seconds; wait until some of them have ended");
  }
  jobs_.erase(oldest);
}

std::vector<JobHost> JobBoard::HostsOf(const Job& job) {
  std::vector<JobHost> hosts;
  for (const auto& [number, host] : job.hosts) hosts.push_back(host);
  return hosts;
}

std::vector<JobRecord> JobBoard::Records() const {
  const MutexLock lock(mutex_);
  std::vector<JobRecord> all;
  for (const auto& [id, job] : jobs_) {
    JobRecord record = job.record;
    record.silent_seconds = SecondsSince(job.reported);
    record.hosts = HostsOf(job);
    all.push_back(std::move(record));
  }
  return all;
}

std::vector<JobBoard::Kept> JobBoard::Jobs() const {
  const double now = SecondsNow();
  const MutexLock lock(mutex_);
  std::vector<Kept> all;
  for (const auto& [id, job] : jobs_) {
    Kept& kept = all.emplace_back();
    kept.credentials = job.credentials;
    kept.record = job.record;
    kept.record.hosts = HostsOf(job);
    kept.reported_at = now - SecondsSince(job.reported);
  }
  return all;
}

void JobBoard::Restore(std::vector<Kept> jobs) {
  const double now = SecondsNow();
  const MutexLock lock(mutex_);
  try {
    for (Kept& kept : jobs) {
      JobRecord& record = kept.record;
      Check(record);
      if (now - kept.reported_at > kForgottenSeconds) continue;
      if (jobs_.contains(record.job_id)) {
        Throw(ErrorCode::kInvalid, "job ", record.job_id, " is there twice");
      }
      Clean(record.command, kMaxCommand);
      Job& job = FindOrAdd(record, std::move(kept.credentials));
      // The clock may have been set since the last report, so the difference is limited.
      const std::chrono::duration<double> silent(
          std::clamp(now - kept.reported_at, 0.0, kForgottenSeconds));
      job.reported = Clock::now() - std::chrono::duration_cast<Clock::duration>(silent);
      for (JobHost& host : record.hosts) Take(std::move(host), job);
    }
  } catch (...) {
    jobs_.clear();
    throw;
  }
}

void JobBoard::SetOnChange(std::function<void()> on_change) {
  const MutexLock lock(mutex_);
  on_change_ = std::move(on_change);
}

}  // namespace graphd
