// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/plan/host_order.h"
#include "ctl/supervise/daemon.h"
#include "ctl/supervise/frames.h"
#include "ctl/supervise/guard.h"
#include "ctl/supervise/line_splitter.h"
#include "ctl/supervise/output.h"
#include "ctl/supervise/trainer.h"

// One host's part of a job: finds or starts the daemon, joins the job, runs the trainers when the
// launcher says go, and ends them all when one fails, when the launcher's end of standard input
// closes or falls silent, on a signal, or when the daemon dies. Stays a member of the job until
// the launcher closes the input, so that a host without trainers serves until the job's end.
//
// One thread, one libuv loop, no child watched by libuv: as a subreaper it has children that it
// did not start.

namespace graphd::ctl {

class Supervisor {
 public:
  Supervisor(HostOrder order, std::string unread_input, GuardedState& guard);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Returns the exit code: 0 if the job's part ended as the launcher wanted.
  int Run();

 private:
  // From SIGTERM to SIGKILL. With what comes before and after, a job ends within a second.
  static constexpr uint64_t kGraceMilliseconds = 600;

  struct Stream {
    UniqueFd fd;
    uv_poll_t poll{};
    bool open = true;
    std::unique_ptr<LineSplitter> lines;
    Supervisor* owner = nullptr;
  };
  struct Trainer {
    TrainerPlan plan;
    pid_t pid = 0;
    bool running = false;
    std::unique_ptr<Stream> streams[2];
  };

  void Send(const nlohmann::json& header, std::string_view payload = {});
  void Fail(ErrorCode code, const std::string& text);
  // Input
  void WatchInput();
  void ReadInput();
  void TakeLines();
  void OnLine(const std::string& line);
  // Daemon
  void PollDaemon();
  void OnReady();
  void WatchDaemonProcess(pid_t pid);
  void LeaveDaemon();
  // Trainers
  void StartTrainers(int master_port);
  std::unique_ptr<Stream> MakeStream(UniqueFd fd, int rank, int number);
  void ReadStream(Stream& stream, bool to_the_end);
  void PauseStreams(bool pause);
  void ReapChildren();
  void OnTrainerExit(Trainer& trainer, int status);
  // The end
  void EndTrainers(bool at_once);
  void AllTrainersEnded();
  void MaybeFinish();
  std::string IpConfigPath();

  HostOrder order_;
  GuardedState& guard_;
  uv_loop_t loop_{};
  std::unique_ptr<OutputQueue> output_;
  uv_poll_t input_{};
  uv_poll_t daemon_exit_{};
  UniqueFd daemon_pidfd_, ip_config_memory_, port_holder_;
  uv_timer_t daemon_timer_{}, kill_timer_{}, silence_timer_{};
  uv_signal_t signals_[4]{};
  std::string input_text_;
  std::unique_ptr<DaemonStarter> starter_;
  std::unique_ptr<ControlClient> client_;
  std::vector<std::unique_ptr<Trainer>> trainers_;
  uint64_t last_heard_ = 0;
  bool ready_ = false, started_ = false, ending_ = false, ended_ = false;
  bool input_closed_ = false, finished_ = false;
  int exit_code_ = 0;
};

}  // namespace graphd::ctl
