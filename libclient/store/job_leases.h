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

// The jobs that are connected, and the times when other jobs left. They decide which leases are
// valid, and which tensors are orphaned. Not thread-safe: a TensorHost guards it by its mutex.
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

  // Treats a job that got a lease or a tensor without being connected as if it had just left: a
  // request may be served after its job has left. An empty name means no job and is ignored.
  void Watch(const std::string& job);
  // Sets the time at which a job left to now, so that the removal of its tensors, which has failed,
  // is tried again later.
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

  // Throws unless `job` may take the lease of the share, or change the share by other means:
  // Error(kDenied), naming the job that holds the lease, or Error(kUnavailable) while that job has
  // left but may come back.
  void CheckFree(const ShareRecord& record, const std::string& job) const;
  // Throws as CheckFree, and Error(kDenied) if the share needs a lease and `job` does not hold it.
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
