// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "client/link/control.h"
#include "ctl/plan/host_order.h"

// Attaches to the daemon of a ServerSpec, and starts the daemon if it is not running. An event
// loop's timer calls Poll() until it returns true. Each call is short, so that signals and the end
// of the input are noticed between calls.
//
// A daemon listens before it has loaded, and answers once it has loaded. A daemon that this object
// starts reports its readiness through the protocol of systemd (sd_notify); other daemons are asked
// at intervals.
//
// Only one process at a time starts a given daemon. That process locks the daemon's log file, looks
// for a running daemon, and keeps the lock until the daemon is ready.

namespace graphd::ctl {

class DaemonStarter {
 public:
  // The choice between starting a daemon that is not running, and waiting until somebody else has
  // started it.
  enum class IfMissing { kStart, kWait };
  // `member`: the job to join when the daemon is ready; nullptr to join none. `ends_with_jobs`: a
  // daemon that this object starts ends with its last job.
  DaemonStarter(ServerSpec spec, const JobMember* member, bool ends_with_jobs,
                IfMissing if_missing = IfMissing::kStart);

  // Returns true once the daemon is ready (and the job is joined). Throws Error with the end of the
  // daemon's log if the daemon ended instead, Error(kExists) if the running server has another
  // graph, Error(kDeadline) after the start timeout.
  bool Poll();

  // Ends a daemon that this object has started and that is not ready yet, and removes its socket.
  void Abandon();

  // Records that the process of the started daemon has ended with this status, as waitpid returns
  // it.
  void OnExit(int wait_status);

  // Returns the wait status of a daemon that this object started and that has ended.
  std::optional<int> exit_status() const {
    return exited_ ? std::optional(exit_status_) : std::nullopt;
  }
  // Returns whether a daemon listened at the last attempt to attach, loaded or not.
  bool is_listening() const { return is_listening_; }
  pid_t started_pid() const { return pid_; }        // 0: attached to a running daemon
  pid_t daemon_pid() const { return daemon_pid_; }  // set when ready; 0 if unknown
  // Returns the part config of the running daemon if it is another file than the part config of the
  // ServerSpec, and otherwise an empty text. Both files describe the same graph.
  const std::string& other_part_config() const { return other_part_config_; }
  // Returns a text for the user if the files have changed since the running daemon read them, and
  // otherwise an empty text.
  const std::string& changed_files() const { return changed_files_; }
  double seconds() const { return SecondsSince(begin_); }
  const std::string& log_path() const { return log_path_; }
  const std::string& socket_path() const { return socket_path_; }
  // Returns the connection by which this process is a member of the job.
  std::unique_ptr<ControlClient> TakeClient() { return std::move(client_); }

  // Returns text about the daemon's log for a message: "; the end of its log PATH: ..."; empty if
  // the log can't be read.
  std::string LogTail() const;

 private:
  enum class Attach { kDone, kNobody, kBusy };  // kBusy: the daemon listens but does not serve yet
  Attach TryAttach();
  bool TryLock();
  void Start();
  [[noreturn]] void RunChild(const std::vector<char*>& words, int log);
  bool NotifiedReady();
  void CheckServesSameGraph(const ServerStatus& status) const;
  void CompareFiles(const ServerStatus& status);
  void CheckNumParts(int num_parts) const;

  ServerSpec spec_;
  std::unique_ptr<JobMember> member_;
  bool ends_with_jobs_;
  IfMissing if_missing_;
  Clock::time_point begin_ = Clock::now();
  std::string directory_, socket_path_, log_path_, other_part_config_, changed_files_;
  UniqueFd lock_;           // nobody else starts the daemon while this process has it
  UniqueFd notify_socket_;  // receives READY=1 (sd_notify) from the daemon that we started
  std::string notify_name_;
  Clock::time_point next_attempt_{};
  uint64_t log_begin_ = 0;  // the size of the log before we started the daemon
  pid_t pid_ = 0, daemon_pid_ = 0;
  int exit_status_ = 0;
  bool exited_ = false, is_listening_ = false;
  std::unique_ptr<ControlClient> client_;
};

}  // namespace graphd::ctl
