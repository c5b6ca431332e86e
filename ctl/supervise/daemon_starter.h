// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "client/link/control.h"
#include "ctl/plan/host_order.h"

// Attaching to the daemon of a ServerSpec, or starting it where none lives. Poll() is called until
// it is true, from an event loop's timer: each call is short, so that signals and the end of the
// input are seen meanwhile.
//
// A daemon listens before it has loaded, and answers when it has. One that this starts tells of its
// readiness as it would tell systemd; others are asked now and then.
//
// Only one process at a time starts a given daemon: its log file is locked from the look for a
// living one until it is ready.

namespace graphd::ctl {

class DaemonStarter {
 public:
  // `member`: the job that it shall join when it is ready; nullptr to join none.
  // `ends_with_jobs`: a daemon that this starts ends with its last job.
  DaemonStarter(ServerSpec spec, const JobMember* member, bool ends_with_jobs);

  // True once the daemon is ready (and the job joined). Throws Error with the end of the daemon's
  // log if it ended instead, Error(kExists) if the living server is of another graph,
  // Error(kDeadline) when the time is over.
  bool Poll();

  // Ends a daemon that this has started and that is not ready yet, with its socket.
  void Abandon();

  // Tells that the process has ended; `wait_status` as waitpid gives it.
  void OnExit(int wait_status);

  pid_t started_pid() const { return pid_; }        // 0: attached to a living one
  pid_t daemon_pid() const { return daemon_pid_; }  // when ready; 0 if unknown
  double seconds() const { return SecondsSince(begin_); }
  const std::string& log_path() const { return log_path_; }
  const std::string& socket_path() const { return socket_path_; }
  // The connection; it is the job's member.
  std::unique_ptr<ControlClient> TakeClient() { return std::move(client_); }

  // " The end of its log, PATH: ..." for messages; empty if there is none.
  std::string LogTail() const;

 private:
  enum class Attach { kDone, kNobody, kBusy };  // kBusy: a process listens but does not serve yet
  Attach TryAttach();
  bool TryLock();
  void Start();
  [[noreturn]] void RunChild(const std::vector<char*>& words, int log);
  bool NotifiedReady();
  void CheckServesSameGraph(const ServerStatus& status) const;
  void CheckNumParts(int num_parts) const;

  ServerSpec spec_;
  std::unique_ptr<JobMember> member_;
  bool ends_with_jobs_;
  Clock::time_point begin_ = Clock::now();
  std::string directory_, socket_path_, log_path_;
  UniqueFd log_lock_;
  UniqueFd notify_socket_;  // where the daemon that we started says READY=1 (sd_notify)
  std::string notify_name_;
  Clock::time_point next_attempt_{};
  uint64_t log_begin_ = 0;  // where the log of the daemon that we started begins
  pid_t pid_ = 0, daemon_pid_ = 0;
  int exit_status_ = 0;
  bool exited_ = false;
  std::unique_ptr<ControlClient> client_;
};

}  // namespace graphd::ctl
