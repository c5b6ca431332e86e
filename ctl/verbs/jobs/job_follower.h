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

// Shows what the hosts of a job report: the lines of the trainers, with their prefixes, and the
// state of the job. Run returns, when all hosts have answered, the exit code of a job that has
// ended, or 0; the ExitCode of an error if no host knows the job or if a host can't tell how it has
// ended. The job goes on after a signal.
class JobFollower final : public HostFollower {
 public:
  // The orders have the action kFollowJob. `tells_news`: also print, to standard error, that the
  // job was started again, and how it has ended.
  JobFollower(const std::vector<HostPlan>& hosts, const HostOptions& options, FollowSpec follow,
              bool tells_news);

 private:
  struct Host {
    nlohmann::json state;  // null: the host has not told it
    bool lives = false;
    std::string directory;
  };

  void OnFrame(size_t host, const std::string& kind, const HostEvent& event) override;
  bool HasToldAll(size_t host, const HostEvent& closed) const override;
  void OnSignal() override;
  // Reports hosts that could not tell, and returns the job's exit code.
  int Conclude() override;
  void OnState(size_t index, const nlohmann::json& header);
  // Tells once which hosts of the job are not asked.
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
