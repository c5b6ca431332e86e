// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/hosts/host_link.h"
#include "ctl/logs/record_merge.h"
#include "ctl/terminal/console.h"
#include "ctl/verbs/host_options.h"

namespace graphd::ctl {

// Shows the log of a server, merged by time over its hosts. Of each host it has one batch of
// records at most, so that its memory is bounded. Main thread only, with SIGINT, SIGTERM and SIGHUP
// blocked in every thread.
class LogFollower {
 public:
  // The orders have the action kServerLogs. `labels` name the hosts in the output.
  LogFollower(std::vector<HostPlan> hosts, std::vector<std::string> labels, HostOptions options,
              bool as_json);

  // Returns, when all hosts have told everything or are lost, 0 or the ExitCode of the first
  // error. Exits with 128 + signal after a signal, and if nobody reads standard output any longer.
  int Run();

  // While the logs are followed, a record is shown after so long, also if a host that is silent or
  // whose clock is slow may still have an earlier one.
  static constexpr double kPatience = 3;  // seconds

 private:
  struct Host {
    std::unique_ptr<HostLink> link;
    bool closed = false, done = false, answered = false, asked = true;
    uint64_t records = 0;
    std::vector<std::string> sources;
    ErrorCode code = ErrorCode::kUnavailable;
    std::string error;
  };

  [[noreturn]] void Leave(int code);
  void OpenLinks();
  void Handle(const HostEvent& event);
  void OnFrame(size_t host, const HostEvent& event);
  void AddRecords(size_t host, std::string_view lines);
  // Prints the records that are due, and asks hosts for more that have none left.
  void Show();
  // Prints records that have waited for too long. Returns whether there were any.
  bool ShowWaiting();
  void Print(size_t host, const LogRecord& record);
  void PrintMessage(const std::string& text);
  bool AllClosed() const;
  int Conclude();

  std::vector<HostPlan> plans_;
  std::vector<std::string> labels_;
  HostOptions options_;
  const bool as_json_;
  EventQueue queue_;
  std::vector<Host> hosts_;
  RecordMerge merge_;
  std::optional<Clock::time_point> waiting_since_;  // unset: no record waits
  Console console_;
};

}  // namespace graphd::ctl
