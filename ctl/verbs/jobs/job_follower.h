// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/hosts/host_link.h"
#include "ctl/terminal/console.h"
#include "ctl/verbs/host_options.h"

namespace graphd::ctl {

// Shows what the hosts of a job tell about it: the trainers' lines with their prefixes, and its
// state. Main thread only, with SIGINT, SIGTERM and SIGHUP blocked in every thread.
class JobFollower {
 public:
  // The orders have the action kFollowJob. `tells_news`: also print, to standard error, that the
  // job was started again, and how it has ended.
  JobFollower(std::vector<HostPlan> hosts, HostOptions options, FollowSpec follow, bool tells_news);

  // Returns, when all hosts have answered, the exit code of a job that has ended, or 0; the
  // ExitCode of an error if no host knows the job or if a host can't tell how it has ended. Exits
  // with 128 + signal after a signal, and if nobody reads standard output any longer; the job goes
  // on.
  int Run();

 private:
  struct Host {
    std::unique_ptr<HostLink> link;
    bool closed = false;
    nlohmann::json state;  // null: the host has not told it
    bool lives = false;
    std::string directory;
    ErrorCode code = ErrorCode::kUnavailable;
    std::string error;
  };

  [[noreturn]] void Leave(int code);
  void OpenLinks();
  void Handle(const HostEvent& event);
  void OnFrame(Host& host, const HostEvent& event);
  void OnState(Host& host, const nlohmann::json& header);
  // Tells once which hosts of the job are not asked.
  void NoteMissingHosts(const nlohmann::json& state);
  void PrintLines(const HostEvent& event);
  void PrintMessage(const std::string& text);
  bool AllClosed() const;
  // Reports hosts that could not tell, and returns the job's exit code.
  int Conclude();

  std::vector<HostPlan> plans_;
  HostOptions options_;
  FollowSpec follow_;
  const bool tells_news_;
  EventQueue queue_;
  std::vector<Host> hosts_;
  std::map<int, std::string> labels_;  // by rank
  uint64_t attempt_ = 0;
  bool has_noted_missing_ = false;
  Console console_;
};

}  // namespace graphd::ctl
