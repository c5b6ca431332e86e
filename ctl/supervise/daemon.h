// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "client/control.h"
#include "ctl/plan/host_order.h"

// Attaching to the daemon of a ServerSpec, or starting it where none lives. Poll() is called until
// it is true, from an event loop's timer: each call is short, so that signals and the end of the
// input are seen meanwhile.
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
  bool TryAttach();
  bool TryLock();
  void Start();
  void CheckIsOurs(const ServerStatus& status) const;

  ServerSpec spec_;
  std::unique_ptr<JobMember> member_;
  bool ends_with_jobs_;
  Clock::time_point begin_ = Clock::now();
  std::string directory_, socket_path_, log_path_;
  UniqueFd log_lock_;
  uint64_t log_begin_ = 0;  // where the log of the daemon that we started begins
  pid_t pid_ = 0, daemon_pid_ = 0;
  int exit_status_ = 0;
  bool exited_ = false;
  std::unique_ptr<ControlClient> client_;
};

}  // namespace graphd::ctl
