// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/hosts/line_splitter.h"
#include "ctl/plan/host_order.h"
#include "ctl/supervise/trainer.h"

// The trainers of one host: their processes, their output by lines, and their exits. It must be
// used on the loop's thread. The owner of this object reaps all children of the process and reports
// their exits to OnChildExit. This object can't reap them, because the process is a subreaper and
// also has children that it did not start.

namespace graphd::ctl {

class TrainerGroup {
 public:
  struct Events {
    // Receives lines of output, each with a newline at its end. fd: 1 or 2.
    std::function<void(int rank, int fd, std::string_view lines)> on_lines;
    // Called after the last line of a trainer. `ending`: whether the trainer ended after End() was
    // called.
    std::function<void(int rank, int code, int signal, bool ending)> on_exit;
    // Called when every trainer and every process started by trainers has ended.
    std::function<void()> on_all_ended;
  };

  // `spared` returns the process number of the daemon, which is also a child of this process, but
  // must not be killed.
  TrainerGroup(uv_loop_t* loop, Events events, std::function<pid_t()> spared);
  ~TrainerGroup();
  TrainerGroup(const TrainerGroup&) = delete;
  TrainerGroup& operator=(const TrainerGroup&) = delete;

  // Starts all trainers; may be called once. Throws Error if one can't be started; the trainers
  // started before it then keep running.
  void Start(const HostOrder& order, int master_port, const std::string& ip_config,
             uint32_t attempt = 0);
  // Returns false if `pid` is not a trainer. Ends the other trainers if this one failed.
  bool OnChildExit(pid_t pid, int wait_status);
  // Sends SIGKILL now if `at_once` is true, and otherwise SIGTERM now and SIGKILL after a grace
  // period. If no trainer is running, the first call calls on_all_ended before it returns. If
  // `grace_seconds` is 0, the period is so short that a job ends within a second in total. A later
  // call may shorten the period.
  void End(bool at_once, double grace_seconds = 0);
  // Pauses or resumes the reading of output, also of trainers that start later. It is paused while
  // the launcher does not accept output.
  void Pause(bool pause);
  bool paused() const { return paused_; }
  bool ending() const { return ending_; }
  // Returns whether on_all_ended was called.
  bool ended() const { return ended_; }
  // Returns the running trainers: rank and pid.
  std::vector<std::pair<int, pid_t>> Running() const;
  // Closes all handles; must be called before the loop runs for the last time.
  void Close();

 private:
  // The grace period from SIGTERM to SIGKILL, unless another one is given.
  static constexpr uint64_t kGraceMilliseconds = 600;

  struct Stream {
    UniqueFd fd;
    uv_poll_t poll{};
    bool open = true;
    int rank = 0;
    int number = 0;  // 1 or 2
    std::unique_ptr<LineSplitter> splitter;
    std::string lines;  // complete lines that have not been passed on
    TrainerGroup* owner = nullptr;
  };
  struct Member {
    int rank = 0;
    pid_t pid = 0;
    bool running = false;
    std::unique_ptr<Stream> streams[2];
  };

  std::unique_ptr<Stream> MakeStream(UniqueFd fd, int rank, int number);
  void Watch(Stream& stream);
  void Read(Stream& stream, bool to_the_end);
  void EmitLines(Stream& stream);
  bool AnyRunning() const;
  void AllEnded();

  uv_loop_t* loop_;
  Events events_;
  std::function<pid_t()> spared_;
  uv_timer_t kill_timer_{};
  std::vector<std::unique_ptr<Member>> members_;
  bool starting_ = false, ending_ = false, ended_ = false, paused_ = false;
};

}  // namespace graphd::ctl
