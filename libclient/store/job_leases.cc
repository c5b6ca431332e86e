// SPDX-License-Identifier: Apache-2.0
#include "store/job_leases.h"

#include "base/strings.h"

namespace graphd::store {

void JobLeases::OnJobJoined(const std::string& job) {
  connected_.insert(job);
  left_at_.erase(job);
}

void JobLeases::OnJobLeft(const std::string& job, bool owns) {
  connected_.erase(job);
  if (owns) left_at_[job] = Clock::now();
}

void JobLeases::Watch(const std::string& job) {
  if (!job.empty() && !connected_.contains(job)) left_at_.try_emplace(job, Clock::now());
}

void JobLeases::Retry(const std::string& job) {
  if (!connected_.contains(job)) left_at_[job] = Clock::now();
}

void JobLeases::Expire(const std::string& job) {
  const auto left = left_at_.find(job);
  if (left == left_at_.end()) return;
  left->second -= std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(lease_seconds_ + orphan_seconds_));
}

std::optional<double> JobLeases::SecondsGone(const std::string& job) const {
  const auto left = left_at_.find(job);
  if (left == left_at_.end()) return std::nullopt;
  return SecondsSince(left->second);
}

bool JobLeases::IsOrphaned(const std::string& job) const {
  const std::optional<double> gone = SecondsGone(job);
  return gone && *gone >= orphan_seconds_;
}

std::vector<std::string> JobLeases::ExpiredJobs() const {
  std::vector<std::string> jobs;
  for (const auto& [job, since] : left_at_) {
    if (SecondsSince(since) >= lease_seconds_) jobs.push_back(job);
  }
  return jobs;
}

void JobLeases::CheckFree(const ShareRecord& record, const std::string& job) const {
  const std::string& holder = record.holder;
  if (holder.empty() || holder == job) return;
  const std::optional<double> gone = SecondsGone(holder);
  if (!gone) {
    Throw(ErrorCode::kDenied, "job ", holder, " writes tensor '", record.spec.name,
          "'; wait for its end, or stop it (graphctl ps, graphctl stop)");
  }
  if (*gone < lease_seconds_) {
    Throw(ErrorCode::kUnavailable, "job ", holder, ", which writes tensor '", record.spec.name,
          "', left ", *gone, " s ago and may come back within ", lease_seconds_, " s");
  }
}

void JobLeases::CheckMayWrite(const ShareRecord& record, const std::string& job) const {
  if (record.spec.persistent && record.spec.writers == TensorWriters::kExclusive &&
      record.holder != job) {
    CheckFree(record, job);
    Throw(ErrorCode::kDenied, "tensor '", record.spec.name,
          "' is written by one job at a time; take its lease first (DistTensor::Acquire)");
  }
}

}  // namespace graphd::store
