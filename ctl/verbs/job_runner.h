// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/hosts/host_link.h"
#include "ctl/terminal/console.h"

// Runs the job of a LaunchPlan, with one link for each host. When every daemon is ready, it starts
// the trainers on all hosts. At the first failure, signal or lost host, it ends them on all hosts.
// It prints the trainers' lines with their prefixes. Only the main thread may use it, and SIGINT,
// SIGTERM and SIGHUP must be blocked in every thread.

namespace graphd::ctl {

class JobRunner {
 public:
  // `host_timeout`: the seconds of silence after which hosts regard this process as lost, and this
  // process regards nodes of Slurm as lost. `connect_timeout`: the seconds that a node of Slurm has
  // in addition until its first frame.
  JobRunner(LaunchPlan plan, LinkOpener open_link, double connect_timeout, double host_timeout);

  // Returns the job's exit code: 0 if all trainers have succeeded, else the exit code of the first
  // trainer that has failed, 128 + a signal's number, or the ExitCode of an error. For a detached
  // job, returns 0 when it runs on all hosts.
  int Run();

  // Returns whether a host of a detached job has begun to go on without this process. Even if a
  // signal has arrived in the meantime, nothing but the hosts then ends the job.
  bool is_detached() const;

 private:
  struct Host {
    std::unique_ptr<HostLink> link;
    bool ready = false, started = false, detached = false, closed = false;
    bool answered = false;  // it has sent a frame
    bool done = false;      // nothing of the job remains there
    bool lost = false;
    int trainers_left = 0;
    Clock::time_point heard{};  // when the last frame arrived or, before that, the link was opened
  };

  void OpenLinks();
  void Handle(const HostEvent& event);
  void OnFrame(size_t index, const HostEvent& event);
  void OnReady(size_t index, const nlohmann::json& header);
  void OnExit(size_t index, const nlohmann::json& header);
  std::string WhereLogsAre(size_t index, int rank) const;
  void OnStarted(size_t index);
  void OnOver(const nlohmann::json& header);
  void OnSignal(int number);
  void PrintLines(const nlohmann::json& header, std::string_view lines);
  void PrintMessage(const std::string& text);
  void Finish();
  [[noreturn]] void GiveUp();
  void SendPings();
  // Gives up nodes of Slurm that have been silent for too long, and ends the job. The links to
  // other hosts notice silence themselves.
  void NoticeSilence();
  // Ends the job on all hosts, which store its exit code and `why`. Only the first call has an
  // effect. Prints `why` and `advice`. If `why` is empty, all trainers have succeeded.
  void End(int code, const std::string& why, const std::string& advice = "");
  bool AllClosed() const;
  const std::string& LabelOf(int rank) const;

  LaunchPlan plan_;
  const LinkOpener open_link_;
  const double connect_timeout_, host_timeout_;
  EventQueue queue_;
  std::vector<Host> hosts_;
  std::vector<std::string> labels_;  // indexed by rank
  Console console_;
  int master_port_ = 0;
  int signals_ = 0;
  const bool hosts_meet_;  // the hosts decide when trainers start and the job ends
  bool started_ = false, ending_ = false, detaching_ = false, dropped_ = false;
  int exit_code_ = 0;
  Clock::time_point end_deadline_{}, last_ping_ = Clock::now();
};

}  // namespace graphd::ctl
