// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "ctl/activity/job_lines.h"
#include "ctl/activity/server_health.h"
#include "ctl/verbs/find_servers.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr const char* kStatusExamples = R"(
A line for each daemon; `graphctl ps` shows all details. Exit code 0 if all daemons are ready; else 5
if one does not run, still loads, stops or takes no new jobs; else 1 if one is degraded: it can't read
or change all tensors, or found damage when it started; else 10, because you may not ask one. A daemon
finds what degrades it when a job uses its tensors. Without --ip_config, a daemon of this machine that
has crashed counts as one that does not run until it is started again or its socket is removed; one
that has never run here is not known.

Examples:
  graphctl status                                 # every server of this machine
  graphctl status --server_name products --ip_config ip_config.txt --json
)";

struct StatusArguments {
  HostOptions hosts;
  bool json = false;
};

void Status(StatusArguments& arguments, bool named) {
  HostOptions& options = arguments.hosts;
  Resolve(options);
  const std::string runtime_dir = RuntimeDirOf(options);
  json machines = json::array();
  std::vector<json> statuses;
  for (const FoundServer& found : FindServers(
           options, runtime_dir,
           {.only = named ? options.server.server_name : "", .dead = DeadSockets::kReport})) {
    machines.push_back(
        found.error.empty()
            ? MachineHealth(found.host, found.status)
            : json({{"host", found.host}, {"error", found.error}, {"denied", found.is_denied}}));
    statuses.push_back(found.status);
  }
  if (arguments.json) {
    std::puts(machines.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  } else if (machines.empty()) {
    std::printf("%s\n", NoServerText(options, runtime_dir, named).c_str());
  } else {
    for (const std::string& line : HealthTable(machines)) std::puts(line.c_str());
    for (const std::string& line : JobLines(statuses, json::array())) std::puts(line.c_str());
  }
  SetExitCode(HealthExitCode(machines));
}

}  // namespace

void AddStatus(CLI::App& app) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* verb = app.add_subcommand("status", "Show whether servers are ready, in one line each");
  verb->footer(kStatusExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback(
      [arguments, verb] { Status(*arguments, verb->get_option("--server_name")->count() > 0); });
}

}  // namespace graphd::ctl
