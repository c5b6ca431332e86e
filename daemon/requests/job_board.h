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

// The reports of supervisors about the hosts of jobs that work without their launcher, and of jobs
// that have ended. By way of the board, the hosts of such a job learn from one another; the daemon
// decides nothing. Jobs outlive the daemon in its JobRecordFile; supervisors that still exist
// report again what is newer than the file. Owned by the main thread. Thread-safe: everything is
// guarded by one mutex.
class JobBoard {
 public:
  static constexpr size_t kMaxHosts = 1024;  // hosts of a job
  static constexpr size_t kMaxSlots = 4096;  // places of trainers of a job
  static constexpr size_t kMaxJobs = 64;     // records of one user; older ones are dropped
  // Hosts of all jobs of one user, and of all users; records of old jobs are dropped for new ones.
  static constexpr size_t kMaxHostsOfUser = 2048, kMaxHostsOfAll = 8192;
  static constexpr size_t kMaxName = 256, kMaxReason = 512;  // bytes; longer texts are truncated
  // A job that has reported within this time is not dropped for another one of the same user.
  static constexpr double kSilentSeconds = 60;

  JobBoard() = default;
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // Keeps those of the hosts in `record` that are newer than what is known, and returns all that is
  // known about the job. Throws Error(kInvalid) for a job id that is empty or too long, for a host
  // outside the job and for a plan that is not the first host's or too long, Error(kDenied) for
  // another secret or, without one, another user than those of the first report, and
  // Error(kOverloaded) if there are too many jobs or hosts that have reported within
  // kSilentSeconds. The caller has checked the secret with the job's other members.
  std::vector<JobHost> Report(JobRecord record, const std::string& secret, const Peer& peer);

  // Returns all jobs, by id.
  std::vector<JobRecord> Records() const;

  // A job as the next process needs it.
  struct Kept {
    JobCredentials credentials;
    JobRecord record;        // with its hosts; silent_seconds says nothing
    double reported_at = 0;  // when the last report came, in seconds since 1970
  };
  // Returns all jobs, by id.
  std::vector<Kept> Jobs() const;
  // Takes the jobs of the previous process, before the first report, but for those that were
  // silent for 30 days. Takes all or none:
  // throws Error(kInvalid) for a job that can't be or is there twice, and Error(kOverloaded) if
  // there are too many that have reported within kSilentSeconds.
  void Restore(std::vector<Kept> jobs);
  // Sets a function that is called, with the lock held, when a report has changed more than the
  // time of a job's last report.
  void SetOnChange(std::function<void()> on_change);

 private:
  struct Job {
    JobCredentials credentials;
    JobRecord record;  // without hosts
    std::map<uint32_t, JobHost> hosts;
    Clock::time_point reported = Clock::now();
  };
  // Returns a job, which is made if it is not known. Throws what Report throws.
  Job& FindOrAdd(const JobRecord& record, JobCredentials credentials) GRAPHD_REQUIRES(mutex_);
  // Takes a report about a host of the job if it is newer than what is known. Returns whether
  // anything but its number is new.
  static bool Take(JobHost host, Job& job);
  // Drops silent jobs of the user, and then of all, until a job on `num_hosts` hosts has room.
  void MakeRoom(const JobCredentials& owner, size_t num_hosts) GRAPHD_REQUIRES(mutex_);
  // Drops the job that has been silent for longest, of those of `owner` if it is not null. Throws
  // Error(kOverloaded), which says what the board keeps, if that one has reported a short time ago.
  void DropOldest(const JobCredentials* owner, const std::string& kept) GRAPHD_REQUIRES(mutex_);
  static std::vector<JobHost> HostsOf(const Job& job);

  mutable Mutex mutex_;
  std::map<std::string, Job> jobs_ GRAPHD_GUARDED_BY(mutex_);
  std::function<void()> on_change_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
