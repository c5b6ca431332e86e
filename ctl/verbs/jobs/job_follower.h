// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ctl/hosts/host_follower.h"
#include "ctl/verbs/host_options.h"

namespace graphd::ctl {

// Shows what the hosts of a job send: the lines of the trainers, to which it adds prefixes, and the
// state of the job. When all hosts have answered, Run returns the job's exit code if
// FollowSpec::until_end is set, and otherwise 0. It returns the ExitCode of an error if no host has
// answered or, with until_end, if no host can tell how the job has ended. The job goes on after a
// signal.
class JobFollower final : public HostFollower {
 public:
  // The orders have the action kFollowJob. `tells_news`: whether to report on standard error that
  // the trainers were started again, and how the job has ended.
  JobFollower(const std::vector<HostPlan>& hosts, const HostOptions& options, FollowSpec follow,
              bool tells_news);

 private:
  struct Host {
    nlohmann::json state;  // null: the host has not sent it
    bool lives = false;
    std::string directory;
  };

  void OnFrame(size_t host, const std::string& kind, const HostEvent& event) override;
  bool HasToldAll(size_t host, const HostEvent& closed) const override;
  void OnSignal() override;
  // Reports the hosts that have not sent how the job has ended, and returns the exit code of Run.
  int Conclude() override;
  void OnState(size_t index, const nlohmann::json& header);
  // Reports, only once, the hosts of the job that are not asked.
  void NoteMissingHosts(const nlohmann::json& state);
  void PrintLines(const HostEvent& event);

  FollowSpec follow_;
  const bool tells_news_;
  std::vector<Host> hosts_;
  // The prefixes of lines by host and rank: another attempt may have the rank on another host.
  std::map<std::pair<size_t, int>, std::string> labels_;
  uint64_t attempt_ = 0;
  bool has_noted_missing_ = false;
};

}  // namespace graphd::ctl
