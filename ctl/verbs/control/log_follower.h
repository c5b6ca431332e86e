// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/hosts/host_follower.h"
#include "ctl/logs/record_merge.h"
#include "ctl/verbs/host_options.h"

namespace graphd::ctl {

// Shows the log of a server, in which the records of all hosts are merged by time. It holds at most
// one batch of records of each host, so that its memory is bounded. Run returns when each host has
// sent everything or is lost: 0, or the ExitCode of the first error.
class LogFollower final : public HostFollower {
 public:
  // The orders have the action kServerLogs. `labels` name the hosts in the output.
  LogFollower(std::vector<HostPlan> hosts, std::vector<std::string> labels,
              const HostOptions& options, bool as_json);

  // While the logs are followed, a record is shown after this time even if a host may still send an
  // earlier one, because that host is silent or its clock is slow.
  static constexpr double kPatience = 3;  // seconds

 private:
  struct Host {
    bool done = false, answered = false, asked = true;
    uint64_t records = 0;
    std::vector<std::string> sources;
  };

  void OnFrame(size_t host, const std::string& kind, const HostEvent& event) override;
  bool HasToldAll(size_t host, const HostEvent&) const override { return hosts_[host].done; }
  void OnClosed(size_t host) override;
  // Prints the records that are due. Then asks each host whose records have all been printed for
  // more.
  void Show() override;
  int Conclude() override;
  void AddRecords(size_t host, std::string_view lines);
  // Prints records that have waited for too long. Returns whether there were any.
  bool ShowWaiting();
  void PrintRecord(size_t host, const LogRecord& record);

  const bool as_json_;
  std::vector<Host> hosts_;
  RecordMerge merge_;
  std::optional<Clock::time_point> waiting_since_;  // unset: no record waits
};

}  // namespace graphd::ctl
