// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "daemon/access/peer.h"
#include "daemon/requests/job_credentials.h"
#include "wire/job_record.h"

namespace graphd {

// The reports of supervisors (the processes of graphctl on the hosts of a job) about jobs that run
// without their launcher, and about jobs that have ended. The supervisors of a job exchange their
// reports through the board; the daemon decides nothing. The JobRecordFile keeps the reports when
// the daemon ends, and supervisors that still run send their newer reports again. Owned by the main
// thread. Thread-safe: everything is guarded by one mutex.
class JobBoard {
 public:
  static constexpr size_t kMaxHosts = kMaxJobHosts;
  static constexpr size_t kMaxSlots = kMaxJobSlots;
  static constexpr size_t kMaxJobs = 64;  // records of one user; older ones are dropped
  // The maximum numbers of hosts in the jobs of one user, and of all users. Records of old jobs are
  // dropped to make room for new ones.
  static constexpr size_t kMaxHostsOfUser = 2048, kMaxHostsOfAll = 8192;
  static constexpr size_t kMaxName = kMaxHostName, kMaxReason = kMaxHostReason;
  // A job that has reported within this time is not dropped to make room for another one.
  static constexpr double kSilentSeconds = 60;

  JobBoard() = default;
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // Stores the reports about hosts in `record` that are newer than the stored ones, and returns all
  // reports about the job. Throws Error(kInvalid) for a job id that is empty or too long, for a
  // host outside the job, and for a plan that does not come from the first host or is too long;
  // Error(kDenied) if the secret or, for a job without a secret, the user differs from the first
  // report's; and Error(kOverloaded) if there are too many jobs or hosts that have reported within
  // kSilentSeconds. The caller must have checked the secret against the job's members.
  std::vector<JobHost> Report(JobRecord record, const std::string& secret, const Peer& peer);

  // Returns all jobs, in the order of their ids.
  std::vector<JobRecord> Records() const;

  // A job in the form in which it is stored for the next process.
  struct Kept {
    JobCredentials credentials;
    JobRecord record;        // with its hosts; silent_seconds is not used
    double reported_at = 0;  // when the last report came, in seconds since 1970
  };
  // Returns all jobs, in the order of their ids, in the form that Restore takes.
  std::vector<Kept> Jobs() const;
  // Adds the jobs of the previous process, except jobs that were silent for 30 days. Must be called
  // before the first report. Adds all jobs or none: throws Error(kInvalid) for a job that is
  // invalid or occurs twice, and Error(kOverloaded) if there are too many jobs that have reported
  // within kSilentSeconds.
  void Restore(std::vector<Kept> jobs);
  // Sets a function that is called, with the lock held, when a report has changed anything but the
  // time of its job's last report.
  void SetOnChange(std::function<void()> on_change);

 private:
  struct Job {
    JobCredentials credentials;
    JobRecord record;  // without hosts
    std::map<uint32_t, JobHost> hosts;
    Clock::time_point reported = Clock::now();
  };
  // Returns a job, and makes it if it is not known. Throws what Report throws.
  Job& FindOrAdd(const JobRecord& record, JobCredentials credentials) GRAPHD_REQUIRES(mutex_);
  // Stores a report about a host of the job if it is newer than the stored report. Returns whether
  // anything but its sequence number has changed.
  static bool Take(JobHost host, Job& job);
  // Drops silent jobs of the user, and then of all users, until there is room for a job on
  // `num_hosts` hosts.
  void MakeRoom(const JobCredentials& owner, size_t num_hosts) GRAPHD_REQUIRES(mutex_);
  // Drops the job that has been silent for longest, among the jobs of `owner` or, if `owner` is
  // null, among all jobs. Throws Error(kOverloaded), whose message contains `kept`, if even that
  // job has reported within kSilentSeconds.
  void DropOldest(const JobCredentials* owner, const std::string& kept) GRAPHD_REQUIRES(mutex_);
  static std::vector<JobHost> HostsOf(const Job& job);

  mutable Mutex mutex_;
  std::map<std::string, Job> jobs_ GRAPHD_GUARDED_BY(mutex_);
  std::function<void()> on_change_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
