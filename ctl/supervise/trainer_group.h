// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/hosts/line_splitter.h"
#include "ctl/plan/host_order.h"
#include "ctl/supervise/trainer.h"

// The trainers of one host: their processes, their output line by line, their exits, their end.
// Belongs to the loop's thread. Its owner reaps all children, because a subreaper has some that it
// did not start, and tells of them by OnChildExit.

namespace graphd::ctl {

class TrainerGroup {
 public:
  struct Events {
    // Lines of output, each with a newline at its end. fd: 1 or 2.
    std::function<void(int rank, int fd, std::string_view lines)> on_lines;
    // After the last line of this trainer. `ending`: it was told to end.
    std::function<void(int rank, int code, int signal, bool ending)> on_exit;
    // Every trainer has ended, and nothing that they started lives any more.
    std::function<void()> on_all_ended;
  };

  // `spared`: the daemon, which is our child, too, and no trainer's.
  TrainerGroup(uv_loop_t* loop, Events events, std::function<pid_t()> spared);
  ~TrainerGroup();
  TrainerGroup(const TrainerGroup&) = delete;
  TrainerGroup& operator=(const TrainerGroup&) = delete;

  // All of them, at most once. Throws Error if one can't be started; those that were, run then.
  void Start(const HostOrder& order, int master_port, const std::string& ip_config);
  // False if it is none of ours. Ends the others if it failed.
  bool OnChildExit(pid_t pid, int wait_status);
  // SIGTERM now and SIGKILL after a grace, or SIGKILL now. Without a running trainer, on_all_ended
  // is called before this returns, the first time.
  void End(bool at_once);
  // Stops or goes on reading output, while nobody takes it.
  void Pause(bool pause);
  bool ending() const { return ending_; }
  // Before the loop is run for the last time.
  void Close();

 private:
  // From SIGTERM to SIGKILL. With what comes before and after, a job ends within a second.
  static constexpr uint64_t kGraceMilliseconds = 600;

  struct Stream {
    UniqueFd fd;
    uv_poll_t poll{};
    bool open = true;
    int rank = 0;
    int number = 0;  // 1 or 2
    std::unique_ptr<LineSplitter> splitter;
    std::string lines;  // whole ones that have not been handed on
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
  bool starting_ = false, ending_ = false, ended_ = false;
};

}  // namespace graphd::ctl
