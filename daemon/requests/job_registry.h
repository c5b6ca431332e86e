// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/status.h"

namespace graphd {

// The jobs attached to this daemon. A job is there while a member's connection lives; nothing of it
// remains afterwards. Thread-safe: everything is guarded by one mutex.
class JobRegistry {
 public:
  // What others want to know. Called with the lock held, in the order of what happens.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void JobCame(const std::string& job_id) = 0;
    virtual void JobLeft(const std::string& job_id) = 0;
    // A trainer has left its job.
    virtual void TrainerLeft(const std::string& job_id, int rank) = 0;
  };

  // `end_with_jobs`: when the last job has left, no other may join any more, and `on_empty` is
  // called, without the lock. `observer` may be null.
  JobRegistry(bool end_with_jobs, std::function<void()> on_empty, Observer* observer = nullptr)
      : end_with_jobs_(end_with_jobs), on_empty_(std::move(on_empty)), observer_(observer) {}
  JobRegistry(const JobRegistry&) = delete;
  JobRegistry& operator=(const JobRegistry&) = delete;

  // Membership of one connection; leaves when destroyed. Must not outlive the registry.
  class Membership {
   public:
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    // Done when every trainer of the job waits here; fails with Error(kUnavailable) when one has
    // left. Call on a thread with an event loop.
    kj::Promise<void> Barrier();

    const std::string& job_id() const noexcept { return job_id_; }
    uint64_t key() const noexcept { return key_; }  // of this connection alone
    JobRole role() const noexcept { return role_; }
    int rank() const noexcept { return rank_; }
    int world_size() const noexcept { return world_size_; }

   private:
    friend class JobRegistry;
    Membership(JobRegistry& registry, const JobMember& member, uint64_t key)
        : registry_(registry),
          job_id_(member.job_id),
          key_(key),
          role_(member.role),
          rank_(member.rank),
          world_size_(member.world_size) {}
    JobRegistry& registry_;
    const std::string job_id_;
    const uint64_t key_;
    const JobRole role_;
    const int rank_, world_size_;
  };

  // `pid` and `peer` are what the kernel says of the connection. Throws Error(kInvalid) for a rank
  // outside the world or another world size than the job has, Error(kExists) for a rank that is
  // attached already, Error(kOverloaded) beyond kMaxJobs or kMaxMembers, Error(kUnavailable) once
  // the daemon is ending.
  std::unique_ptr<Membership> Join(JobMember member, int64_t pid, std::string peer);

  // From now on nobody may join.
  void Close();
  bool is_closed() const;

  std::vector<JobStatus> Jobs() const;
  size_t num_jobs() const;

  static constexpr size_t kMaxJobs = 1024;
  static constexpr size_t kMaxMembers = 65536;
  static constexpr size_t kMaxJobId = 256;
  static constexpr size_t kMaxCommand = 4096;  // the rest is cut off

 private:
  struct Job {
    std::string command;
    int world_size = 0;
    Clock::time_point since = Clock::now();
    std::map<uint64_t, MemberStatus> members;
    std::set<int> left;  // ranks of trainers that are no longer attached
    struct Waiter {
      uint64_t ticket;
      kj::Own<kj::CrossThreadPromiseFulfiller<void>> fulfiller;
    };
    std::map<uint64_t, Waiter> waiting;  // in the barrier
  };
  using Waiting = decltype(Job::waiting);
  void Leave(const std::string& job_id, uint64_t key);
  kj::Promise<void> Wait(const std::string& job_id, uint64_t key);
  // Takes a member out of the barrier if it waits there with this ticket.
  void StopWaiting(const std::string& job_id, uint64_t key, uint64_t ticket);
  static void FailAll(Waiting waiting, int rank);

  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;  // guarded by mutex_
  uint64_t next_key_ = 1;            // guarded by mutex_
  bool closed_ = false;              // guarded by mutex_
  const bool end_with_jobs_;
  std::function<void()> on_empty_;
  Observer* const observer_;
};

}  // namespace graphd
