// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/logs/log_record.h"
#include "ctl/logs/since.h"
#include "ctl/verbs/control/ask.h"
#include "ctl/verbs/control/log_follower.h"
#include "ctl/verbs/verbs.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr int64_t kFollowedLines = 10;  // number of existing records that --follow shows first

constexpr const char* kServerLogsExamples = R"(
Shows what the daemons have logged, merged by time over all hosts: from the journal of
graphd@NAME.service where systemd runs them, and from the log files of others. Without --ip_config,
it shows the logs of this machine. A host that is lost is named, and the others go on.

Examples:
  graphctl server logs --server_name products --ip_config ip_config.txt --since 1h
  graphctl server logs --server_name products --ip_config ip_config.txt --follow --level warning
  graphctl server logs --server_name products -n 100 --json     # on a host of the server
)";

struct ServerLogsArguments {
  HostOptions hosts;
  LogsSpec logs;
  std::string since;
  bool json = false;
};

void ShowLogs(ServerLogsArguments& arguments) {
  HostOptions& options = arguments.hosts;
  LogsSpec& logs = arguments.logs;
  if (!arguments.since.empty())
    logs.since = ParseSince(arguments.since, static_cast<double>(MicrosecondsNow()) * 1e-6);
  if (logs.follow && logs.lines < 0 && arguments.since.empty()) logs.lines = kFollowedLines;
  Resolve(options);
  const bool is_here = options.lines.empty();
  if (is_here) options.lines = ParseIpConfig("127.0.0.1", "default");
  std::vector<HostPlan> plan =
      PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kServerLogs);
  std::vector<std::string> labels;
  std::set<std::string> with_journal;  // addresses; a machine has one journal for all its daemons
  for (HostPlan& host : plan) {
    ServerSpec& server = host.order.server;
    host.order.logs = logs;
    host.order.logs.has_journal = with_journal.insert(server.address).second;
    if (is_here) server.port = 0;
    labels.push_back(is_here ? "here" : HostPort(server.address, server.port));
  }
  SetExitCode(LogFollower(std::move(plan), std::move(labels), options, arguments.json).Run());
}

}  // namespace

void AddServerLogs(CLI::App& server) {
  auto arguments = std::make_shared<ServerLogsArguments>();
  CLI::App* const verb =
      server.add_subcommand("logs", "Show the logs of the daemons, merged by time over all hosts");
  verb->footer(kServerLogsExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_flag("-f,--follow", arguments->logs.follow,
                 "Go on with what the daemons log from now on, until Ctrl-C");
  verb->add_option("-n,--lines", arguments->logs.lines,
                   "Begin with the last records of each host (default: all that are kept, and 10 "
                   "with --follow unless --since is given)")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}));
  verb->add_option("--since", arguments->since,
                   "Begin with this time, 13:05, 2026-11-26 or '2026-11-26 13:05:30', or so long "
                   "ago: 30s, 15min, 2h, 1d");
  verb->add_option("--level", arguments->logs.least_level,
                   "Show records of this level and more important ones: debug, info, warning or "
                   "error")
      ->default_val("debug")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  verb->add_flag("--json", arguments->json, "Print an object of JSON for each record, one a line");
  verb->callback([arguments] { ShowLogs(*arguments); });
}

}  // namespace graphd::ctl
