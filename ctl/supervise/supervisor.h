// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/hosts/frame_reader.h"
#include "ctl/plan/host_order.h"
#include "ctl/supervise/daemon_starter.h"
#include "ctl/supervise/job_part.h"
#include "ctl/supervise/led_job.h"
#include "ctl/supervise/output_queue.h"
#include "ctl/supervise/run_guarded.h"
#include "ctl/supervise/trainer_group.h"
#include "ctl/supervise/trainer_logs.h"

// The supervisor of one host's part of a job. It finds or starts the daemon, joins the job, and
// starts the trainers when the launcher sends "go". It ends all trainers when one fails, when the
// launcher closes the standard input or falls silent, or on a signal. It stays a member of the job
// until the launcher ends the job, so that the daemon of a host without trainers serves until then.
// A host without a partition has no daemon: it is ready at once, and learns from the other hosts
// when their daemons have ended.
//
// Trainers whose daemon has ended wait for it and attach again by themselves. The supervisor also
// attaches again, and ends the job if no daemon returns within the grace period. It starts the
// daemon again only if the daemon was its child and has failed, because nobody else would. Systemd
// and users start their own daemons again, with settings that this process does not know, and a
// daemon that has ended with code 0 was stopped on purpose.
//
// Hosts that decide together (JobPart) need no launcher: they start their trainers when all are
// ready, and start them again or end the job when one fails. A detached job continues after the
// launcher has sent "detach".
//
// The supervisor uses one libuv loop, and one more thread for the reports that hosts exchange.
// libuv does not watch children here, because this process, as a subreaper, has children that it
// did not start.

namespace graphd::ctl {

class Supervisor {
 public:
  // `detaching` is closed when the job no longer needs its launcher, at the latest when this object
  // is destroyed.
  Supervisor(HostOrder order, std::string unread_input, GuardState& guard,
             UniqueFd detaching = UniqueFd());
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Returns the exit code: 0 if the job's part ended on the launcher's order.
  int Run();

 private:
  void Send(const nlohmann::json& header, std::string_view payload = {});
  void Notice(const std::string& text);
  void Fail(ErrorCode code, const std::string& text);
  // Input from the launcher, the system and the user
  void WatchSignals();
  void WatchInput();
  void ReadInput();
  void TakeLines();
  void OnLine(const std::string& line);
  void ReapChildren();
  // Daemon
  void CheckWorkspace() const;
  void StartDaemon(DaemonStarter::IfMissing if_missing);
  void PollDaemon();
  void OnReady();
  void CheckMasterAddress() const;
  void BecomeReady();
  void WatchDaemonProcess(pid_t pid);
  void StopWatchingDaemon();
  void OnDaemonEnd();
  bool MayRestartDaemon();
  void LeaveDaemon();
  // Trainers
  std::unique_ptr<TrainerGroup> MakeTrainers();
  void StartTrainers(int master_port);
  int PrepareTrainers();
  void OnAllEnded();
  void OpenLogs();
  void Log(int rank, std::string_view lines);
  std::string IpConfigPath();
  // Hosts that decide together
  JobPart::Actions PartActions();
  void Detach();
  bool HasEnded() const;
  // Ends the trainers and, if `input_over`, this process.
  void End(bool input_over);

  HostOrder order_;
  GuardState& guard_;
  uv_loop_t loop_{};
  std::unique_ptr<OutputQueue> output_;
  std::unique_ptr<TrainerGroup> trainers_;
  std::vector<std::unique_ptr<TrainerGroup>> earlier_;  // the trainers of earlier attempts
  uv_poll_t input_{};
  uv_poll_t* daemon_exit_ = nullptr;  // deletes itself when it is closed
  UniqueFd daemon_pidfd_, ip_config_memory_, port_holder_, detaching_;
  uv_timer_t daemon_timer_{}, silence_timer_{};
  uv_signal_t signals_[4]{};
  std::string input_text_;
  std::optional<TrainerLogs> logs_;
  std::unique_ptr<JobPart> part_;  // null: the launcher decides
  std::unique_ptr<LedJob> led_;    // null: the hosts decide, or no record is kept
  std::unique_ptr<DaemonStarter> starter_;
  std::unique_ptr<ControlClient> client_;  // null: not attached
  Clock::time_point lost_since_{};         // when the daemon ended, if none runs now
  std::deque<Clock::time_point> restarts_;
  uint64_t last_heard_ = 0;
  uint32_t attempt_ = 0;  // the number of times that the trainers were started again
  double next_notice_;    // seconds of waiting for the daemon until the next notice
  bool ready_ = false, started_ = false, all_ended_ = false, input_over_ = false;
  bool detached_ = false;
  bool ending_ = false;  // for any reason: the job's end, a failure, a signal
  int exit_code_ = 0;
  std::string why_;  // the reason why the job can't continue
};

}  // namespace graphd::ctl
