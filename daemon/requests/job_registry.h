// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "daemon/access/peer.h"
#include "daemon/requests/job_counters.h"
#include "daemon/requests/job_credentials.h"
#include "wire/status.h"

namespace graphd {

// The information that a trainer gives about its entry into a barrier. Clients of earlier versions
// give none.
struct BarrierEntry {
  uint64_t id = 0;      // the same if the trainer enters a barrier again; 0: not given
  uint64_t passed = 0;  // number of the last barrier that it has passed; 0: it knows of none
};

// The registry of the jobs attached to this daemon. A job exists while one of its members is
// connected. Afterwards, only its credentials are remembered, for kRememberSeconds. Owned by the
// main thread. Thread-safe: everything is guarded by one mutex.
class JobRegistry {
 public:
  // The receiver of changes to jobs. Its methods are called with the lock held, in the order of the
  // changes.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void OnJobJoined(const std::string& job_id) = 0;
    virtual void OnJobLeft(const std::string& job_id) = 0;
    // Reports, after OnJobLeft, that the job can't come back, because an operator has ended it.
    virtual void OnJobEnded(const std::string& job_id) { static_cast<void>(job_id); }
    // Reports that a trainer has left its job.
    virtual void TrainerLeft(const std::string& job_id, int rank) = 0;
    // Reports that the first trainer of a later attempt attaches. Trainers of earlier attempts have
    // ended, or must not change anything any more.
    virtual void OnAttemptBegun(const std::string& job_id, uint32_t attempt) = 0;
  };

  // `end_with_jobs`: once the last job has left, no other job may join, and `on_empty` is called
  // without the lock. `observer` may be null.
  JobRegistry(bool end_with_jobs, std::function<void()> on_empty, Observer* observer = nullptr)
      : end_with_jobs_(end_with_jobs), on_empty_(std::move(on_empty)), observer_(observer) {}
  JobRegistry(const JobRegistry&) = delete;
  JobRegistry& operator=(const JobRegistry&) = delete;

  // The membership of one connection in a job, which ends when this object is destroyed. It must
  // not outlive the registry.
  class Membership {
   public:
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    // Enters the job's barrier. Returns a promise that is fulfilled when every trainer of the job
    // waits in the barrier, with the number of this barrier. If the trainer has passed the barrier
    // before and only lost the answer, it is fulfilled at once. It fails with Error(kUnavailable)
    // when a trainer has left, and with Error(kDeadline) after `timeout` (0: never); the latter
    // error names the ranks that have not come. Either all trainers that wait pass the barrier or
    // none; a trainer whose timeout has passed no longer counts as waiting. Must be called on the
    // timer's thread.
    kj::Promise<uint64_t> Barrier(kj::Timer& timer, std::chrono::milliseconds timeout,
                                  const BarrierEntry& entry = {});

    // Adds the member's reads in mapped memory to the counts of its job.
    void CountMapped(const MappedReads& reads);

    const std::string& job_id() const noexcept { return job_id_; }
    // Returns a number that identifies the job while it exists; jobs before or after it have
    // others.
    uint64_t job_number() const noexcept { return job_number_; }
    uint64_t key() const noexcept { return key_; }  // unique to this connection
    // Returns the counters of the job's requests, which may outlive the job.
    const std::shared_ptr<JobCounters>& counters() const noexcept { return counters_; }
    JobRole role() const noexcept { return role_; }
    int rank() const noexcept { return rank_; }
    int world_size() const noexcept { return world_size_; }
    uint32_t attempt() const noexcept { return attempt_; }

   private:
    friend class JobRegistry;
    Membership(JobRegistry& registry, const JobMember& member, uint64_t job_number, uint64_t key,
               std::shared_ptr<JobCounters> counters)
        : registry_(registry),
          job_id_(member.job_id),
          job_number_(job_number),
          key_(key),
          counters_(std::move(counters)),
          role_(member.role),
          rank_(member.rank),
          world_size_(member.world_size),
          attempt_(member.attempt) {}
    JobRegistry& registry_;
    const std::string job_id_;
    const uint64_t job_number_, key_;
    const std::shared_ptr<JobCounters> counters_;
    const JobRole role_;
    const int rank_, world_size_;
    const uint32_t attempt_;
  };

  // Throws Error(kInvalid) if the id or the secret is too long, or the id is not UTF-8.
  static void CheckSizes(const std::string& job_id, const std::string& secret);

  // Adds a member. The first member of a job decides the job's secret and user. Both are remembered
  // for kRememberSeconds after the last member has left; the job's tensors are kept for a shorter
  // time. `on_end`, if given, is called without the lock when an operator ends the job, or when a
  // trainer of a later attempt attaches, so that this member changes nothing any more. It must not
  // throw.
  //
  // A trainer of a later attempt that attaches makes the registry forget the trainers of earlier
  // attempts: they no longer count as attached or as having left, and the number of trainers may
  // differ. A trainer of an earlier attempt is refused with Error(kDenied), so that it does not try
  // again.
  //
  // Throws Error(kDenied) for another secret or, if the job has no secret, another user, for a job
  // that an operator has ended, and for a new job while new jobs are refused; Error(kInvalid) for a
  // rank outside the world, a world of more than kMaxWorldSize or a world size other than the
  // job's; Error(kExists) for a rank that is attached already; Error(kOverloaded) beyond kMaxJobs
  // or kMaxMembers; Error(kUnavailable) once the daemon shuts down.
  std::unique_ptr<Membership> Join(JobMember member, const Peer& peer,
                                   std::function<void()> on_end = {});

  // Checks that a process which reports about a job could join it. Throws Error(kInvalid) for a job
  // id or a secret that is too long, Error(kUnavailable) if the job is neither attached nor
  // remembered, and Error(kDenied) for another secret or, if there is none, another user.
  void CheckReport(const std::string& job_id, const std::string& secret, const Peer& peer);

  // Refuses new jobs from now on if `drained` is given, and otherwise accepts them again. Jobs that
  // are attached or remembered, and graphctl's own jobs (kToolJobPrefix), are still admitted.
  // Returns whether this changes anything; DrainStatus::seconds is not compared.
  bool SetDrained(std::optional<DrainStatus> drained);
  std::optional<DrainStatus> drained() const;

  // Ends a job: fails its barriers with Error(kDenied), which tells `why`, calls the on_end of its
  // members, and refuses the job for kRememberSeconds with the same error. Returns the number of
  // its members; 0 for a job that has left but is remembered. Throws Error(kNotFound), which names
  // jobs that exist.
  size_t End(const std::string& job_id, const std::string& why);

  // Remembers the credentials of the previous process's jobs, as if these jobs had left just now.
  void Expect(CredentialsOfJobs jobs);
  // Returns the credentials of all jobs that are attached or remembered.
  CredentialsOfJobs Credentials() const;
  // Sets a function that is called, with the lock held, after each change of Credentials().
  void SetOnChange(std::function<void()> on_change);

  // Refuses all later calls of Join.
  void Close();
  bool is_closed() const;

  // Returns the ranks that are missing in the barrier in which trainers of a job wait, as
  // "rank 1, 3" for messages; empty if none waits.
  std::string MissingInBarrier(const std::string& job_id) const;

  std::vector<JobStatus> Jobs() const;
  size_t num_jobs() const;

  static constexpr size_t kMaxJobs = 1024;
  static constexpr int kMaxWorldSize = 65536;
  // A trainer over TCP has two connections, each of which is a member, and each host has a
  // launcher.
  static constexpr size_t kMaxMembers = 3 * size_t{kMaxWorldSize};
  static constexpr size_t kMaxSecret = 256;
  static constexpr size_t kMaxRemembered = 4096;  // jobs of a user that have left
  static constexpr double kRememberSeconds = 120;

 private:
  // A job that an operator has ended.
  struct Ended {
    std::string why;
    Clock::time_point at{};
  };
  // The credentials of a job that has left.
  struct Departed {
    JobCredentials credentials;
    Clock::time_point left{};
  };
  struct Job {
    JobCredentials credentials;
    std::string command;
    uint64_t number = 0;
    int world_size = 0;          // number of trainers in the attempt `world_attempt`
    uint32_t world_attempt = 0;  // the latest attempt of all members that have attached
    uint32_t attempt = 0;        // the latest attempt of all trainers that have attached
    Clock::time_point since = Clock::now();
    MappedReads mapped_reads;
    std::shared_ptr<JobCounters> counters = std::make_shared<JobCounters>();
    std::map<uint64_t, MemberStatus> members;
    std::map<uint64_t, std::function<void()>>
        on_end;              // the callbacks of members that have given one
    std::vector<bool> left;  // by rank: whether the trainer is no longer attached
    struct Waiter {
      uint64_t ticket;
      BarrierEntry entry;
      kj::Own<kj::CrossThreadPromiseFulfiller<uint64_t>> fulfiller;
    };
    std::map<int, Waiter> waiting;  // trainers in the barrier, by rank
    // The number of the last complete barrier that this daemon knows of, and the ids with which
    // trainers entered the last one that was completed here, by rank.
    uint64_t barriers = 0;
    std::map<int, uint64_t> last_entries;
  };
  using Waiting = decltype(Job::waiting);
  void Leave(const std::string& job_id, uint64_t key);
  kj::Promise<uint64_t> Wait(const std::string& job_id, uint64_t key, kj::Timer& timer,
                             std::chrono::milliseconds timeout, const BarrierEntry& entry);
  // Notes that a trainer has passed the barrier of this number, and removes the trainers that wait
  // in an earlier one, whose answers were lost. Returns them.
  static Waiting TakePassed(Job& job, uint64_t passed);
  // Removes a trainer from the barrier if it waits there with this ticket. Returns the ranks that
  // had not come, for an error; nothing if the trainer did not wait.
  std::string StopWaiting(const std::string& job_id, int rank, uint64_t ticket);
  static void FailAll(Waiting waiting, const Error& error);
  using Callbacks = std::vector<std::function<void()>>;
  std::unique_ptr<Membership> Add(JobMember member, const Peer& peer, std::function<void()> on_end,
                                  Callbacks& afterwards) GRAPHD_REQUIRES(mutex_);
  void Begin(Job& job, const JobMember& member, Callbacks& outdated) GRAPHD_REQUIRES(mutex_);
  // Throws Error(kDenied) if an operator has ended the job, or if the job is new and new jobs are
  // refused.
  void CheckWanted(const std::string& job_id) GRAPHD_REQUIRES(mutex_);

  // Returns the credentials of a job that is attached or that has left a short while ago.
  const JobCredentials* Remembered(const std::string& job_id) GRAPHD_REQUIRES(mutex_);
  // Keeps the credentials of a job that has left.
  void Remember(const std::string& job_id, JobCredentials credentials) GRAPHD_REQUIRES(mutex_);
  void NoteChange() GRAPHD_REQUIRES(mutex_) {
    if (on_change_) on_change_();
  }

  mutable Mutex mutex_;
  std::map<std::string, Job> jobs_ GRAPHD_GUARDED_BY(mutex_);
  std::map<std::string, Departed> departed_ GRAPHD_GUARDED_BY(mutex_);
  std::map<std::string, Ended> ended_ GRAPHD_GUARDED_BY(mutex_);
  std::optional<DrainStatus> drained_ GRAPHD_GUARDED_BY(mutex_);
  Clock::time_point drained_at_ GRAPHD_GUARDED_BY(mutex_){};
  uint64_t next_key_ GRAPHD_GUARDED_BY(mutex_) = 1;
  bool closed_ GRAPHD_GUARDED_BY(mutex_) = false;
  const bool end_with_jobs_;
  std::function<void()> on_empty_;
  std::function<void()> on_change_ GRAPHD_GUARDED_BY(mutex_);
  Observer* const observer_;
};

}  // namespace graphd
