// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/plan/attempt_plan.h"
#include "ctl/plan/host_order.h"
#include "ctl/plan/job_decision.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/job_requests.h"
#include "ctl/supervise/job_state.h"
#include "ctl/supervise/job_talk.h"
#include "ctl/supervise/leave_condition.h"

namespace graphd::ctl {

// This host's part of a job whose hosts decide together, without a launcher, when its trainers
// start, start again and end (ctl/plan/job_decision.h). It sends this host's reports, acts on the
// reports of the other hosts, and keeps the job's directory up to date. It must be used on the
// thread of the libuv loop.
class JobPart {
 public:
  // The functions of the supervisor that this part calls.
  struct Actions {
    std::function<void(int port)> start;
    // Ends the trainers: with SIGKILL if `at_once`, and otherwise with SIGTERM first. When all have
    // ended, the supervisor must call OnAllEnded.
    std::function<void(bool at_once, double grace)> end_trainers;
    // Prepares another attempt, with the trainers of `order`, and shows `text` to the user. Returns
    // a port for MASTER_PORT, or 0. Called when all trainers of the previous attempt have ended.
    std::function<int(const HostOrder& order, uint32_t attempt, const std::string& text)> prepare;
    // Sends the reports of all hosts to the daemon of this host, which shows them to users.
    std::function<void(const JobRecord& record)> record;
    // Sends a text to the launcher, if it still runs, and to the logs.
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

  // Must be called when the daemon of this host is ready. `port`: a free port for MASTER_PORT, or 0
  // if rank 0 is on another host.
  void OnReady(int port);
  void OnTrainers(const std::vector<std::pair<int, pid_t>>& pids_by_rank);
  void OnExit(int rank, int code, int signal, bool ending);
  // Handles the end of all trainers of this attempt.
  void OnAllEnded();
  // Ends the job on all hosts, because this host can't continue. If the job can go on without this
  // host, ends only this host's part. Only the first call has an effect, and only if the job has
  // not ended yet.
  void GiveUp(int code, const std::string& reason);
  void OnDetached();

  // Returns whether this host may leave the job: nothing of the job remains here, and the other
  // hosts know that.
  bool may_leave() const noexcept { return may_leave_; }

 private:
  void Act();
  void CarryOut(const JobTalk::News& news);
  void FindTrouble(const JobTalk::News& news);
  void Stop(int code, const std::string& reason, double grace = 0);
  void End(const JobDecision& decision);
  // Returns whether the job was stopped or is ending, so that nothing new may begin.
  bool is_stopped() const { return ending_ || own_.phase == JobPhase::kStopped; }
  // Attempts
  bool MayLose(uint32_t host) const;
  bool MayLoseHosts() const;
  SilentHosts SilentNow() const;
  std::vector<uint32_t> AbsentNow(const JobTalk::News& news) const;
  void FindLostHosts(const JobTalk::News& news);
  void TakeRestartRequest(const JobTalk::News& news);
  void BeginAttempt(const JobTalk::News& news, bool counts);
  void FollowAttempt(const JobHost& first_host);
  void Join(const JobTalk::News& news);
  void StayAway();
  void Interrupt(bool at_once, double grace = 0);
  void Prepare();
  void GoOver();
  void CheckLeave(const JobTalk::News& news);
  void Say(JobPhase phase);
  void Keep();
  void Record(const std::vector<JobHost>& hosts);

  HostOrder order_;  // with the trainers of this attempt
  const Actions actions_;
  JobDirectory directory_;
  JobRequests requests_;
  JobState state_;
  JobHost own_;
  uv_timer_t* timer_ = nullptr;  // deletes itself when it is closed
  bool ready_ = false;
  bool trainers_gone_ = true;     // no trainer runs
  bool interrupted_ = false;      // the trainers are being ended for another attempt
  bool preparing_ = false;        // another attempt begins when the trainers have ended
  bool joining_ = false;          // this host does not know yet which attempt runs without it
  bool away_ = false;             // the job's attempt goes on without this host
  bool leaving_ = false;          // this host's part ends, and the job goes on without it
  uint32_t restarts_ = 0;         // restarts so far, of those that --max_restarts limits
  std::vector<uint32_t> wanted_;  // on the first host: trainers by slot if no host is absent
  bool acting_ = false;           // Act runs, and must not call itself indirectly
  bool ending_ = false, over_ = false, may_leave_ = false;
  JobDecision outcome_;
  LeaveCondition leave_;
  Clock::time_point recorded_at_{};
  std::string recorded_;  // the text that was reported last
  std::unique_ptr<JobTalk> talk_;
};

}  // namespace graphd::ctl
