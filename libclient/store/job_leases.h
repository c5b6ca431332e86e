// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/share_record.h"

namespace graphd::store {

// The jobs that are connected, and the times when other jobs left. They decide which leases (the
// right of one job to write a tensor) are valid, and which tensors are orphaned, so that they are
// deleted. Not thread-safe: a TensorHost guards it by its mutex.
class JobLeases {
 public:
  // A job's lease ends `lease_seconds` after the job has left, and its own tensors are orphaned
  // `orphan_seconds` after it has left.
  JobLeases(double lease_seconds, double orphan_seconds)
      : lease_seconds_(lease_seconds), orphan_seconds_(orphan_seconds) {}

  // Handles the opening of a job's first connection.
  void OnJobJoined(const std::string& job);
  // Handles the closing of a job's last connection. `owns`: whether the job has leases or tensors
  // of its own here.
  void OnJobLeft(const std::string& job, bool owns);

  // Treats a job that has a lease or a tensor, but is neither connected nor known to have left, as
  // if it had just left. A request may be served after its job has left, for example. An empty name
  // means no job and is ignored.
  void Watch(const std::string& job);
  // Makes a job that is not connected count as if it had left just now. Called when the removal of
  // its tensors has failed, so that it is tried again later.
  void Retry(const std::string& job);
  // Ends the lease of a job that has left, and makes its tensors orphaned at once, because the job
  // can't come back.
  void Expire(const std::string& job);
  void Forget(const std::string& job) { left_at_.erase(job); }

  bool HasLeft(const std::string& job) const { return left_at_.contains(job); }
  // Returns whether the job has been gone for so long that its tensors are orphaned.
  bool IsOrphaned(const std::string& job) const;
  // Returns the jobs whose leases have ended.
  std::vector<std::string> ExpiredJobs() const;

  // Throws if another job holds the lease of the share, so that `job` may neither take the lease
  // nor drop the share or add state to it: Error(kDenied), naming the holder, or
  // Error(kUnavailable) while the holder has left but may come back.
  void CheckFree(const ShareRecord& record, const std::string& job) const;
  // Throws if the share needs a lease to be written, and `job` does not hold it: what CheckFree
  // throws, or otherwise Error(kDenied).
  void CheckMayWrite(const ShareRecord& record, const std::string& job) const;

 private:
  std::optional<double> SecondsGone(const std::string& job) const;

  const double lease_seconds_, orphan_seconds_;
  std::set<std::string> connected_;
  // The jobs with leases or tensors that have left, or have not connected since this process
  // started, and the times from which they count as gone.
  std::map<std::string, Clock::time_point> left_at_;
};

}  // namespace graphd::store
