// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/plan/host_order.h"
#include "ctl/plan/job_decision.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/job_talk.h"

namespace graphd::ctl {

// The share of this host in a job whose hosts decide together (ctl/plan/job_decision.h): it
// sends what this host says, does what follows from what the others say, and keeps the job's
// directory. Belongs to the loop's thread.
class JobPart {
 public:
  // The actions of the supervisor for this part.
  struct Actions {
    std::function<void(int port, uint32_t attempt)> start;
    // Ends the trainers; OnAllEnded follows.
    std::function<void(double grace)> end_trainers;
    // Prepares another attempt; returns a port for MASTER_PORT, or 0. All trainers have ended.
    std::function<int(uint32_t attempt)> prepare;
    // Tells the daemon of this host what is known about all hosts.
    std::function<void(const JobRecord& record)> record;
    // Tells the launcher, if it is still there, and the logs.
    std::function<void(const std::string& text)> notice;
    // Called when nothing of the job remains here, with its outcome.
    std::function<void(int code, const std::string& reason)> over;
  };

  // Makes the job's directory. Throws as JobDirectory::Make does.
  JobPart(uv_loop_t* loop, const HostOrder& order, Actions actions);
  ~JobPart();
  JobPart(const JobPart&) = delete;
  JobPart& operator=(const JobPart&) = delete;

  const JobDirectory& directory() const noexcept { return directory_; }

  // The daemon serves; `port` is for MASTER_PORT, or 0.
  void OnReady(int port);
  void OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank);
  void OnExit(int rank, int code, int signal, bool ending);
  // All trainers of this attempt have ended.
  void OnAllEnded();
  // Ends the job on all hosts. The first call counts, and none does once the job has ended.
  void Stop(int code, const std::string& reason, double grace = 0);
  void OnDetached();

  // Returns whether this host may leave the job: nothing remains, and the others know it.
  bool may_leave() const noexcept { return may_leave_; }

 private:
  void Act();
  void FindTrouble(const JobTalk::News& news);
  void End(const JobDecision& decision);
  void Restart();
  void GoOver();
  void CheckLeave(const JobTalk::News& news);
  void Say(JobPhase phase);
  void Keep();
  void Record(const std::vector<JobHost>& hosts);
  nlohmann::json HostsJson() const;

  const HostOrder order_;
  const Actions actions_;
  JobDirectory directory_;
  nlohmann::json state_;
  JobHost own_;
  uv_timer_t* timer_ = nullptr;  // deletes itself when it is closed
  bool ready_ = false;
  bool trainers_gone_ = true;  // none runs, or has started yet
  bool interrupted_ = false;   // they are being ended for another attempt
  bool acting_ = false;        // Act is not called by what it calls
  bool ending_ = false, over_ = false, may_leave_ = false;
  JobDecision outcome_;
  Clock::time_point over_at_{}, all_know_since_{}, recorded_at_{};
  bool write_failed_ = false;
  std::string recorded_, kept_;  // the texts that were told and written last
  std::unique_ptr<JobTalk> talk_;
};

}  // namespace graphd::ctl
