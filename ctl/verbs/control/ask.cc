// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/control/ask.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/directory.h"
#include "base/host_name.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/find_servers.h"
#include "ctl/verbs/verbs.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

// Returns the user and the machine of this process, which daemons write to their logs:
// alice@host-1.
std::string OperatorName() {
  const passwd* const user = ::getpwuid(::geteuid());
  return StrCat(user != nullptr ? user->pw_name : StrCat(::geteuid()), "@", HostName());
}

// Returns the lines of an ip_config for the daemons of this machine with the server's name.
std::vector<HostLine> DaemonsHere(const HostOptions& options) {
  const std::string runtime_dir = RuntimeDirOf(options);
  const std::string& name = options.server.server_name;
  std::vector<std::string> lines;
  for (const std::string& file : ListReadable(runtime_dir + "/" + name)) {
    const auto port = PortOfSocketName(file);
    if (port) lines.push_back(StrCat("127.0.0.1 ", *port, "\n"));
  }
  if (lines.empty()) {
    Throw(ErrorCode::kUnavailable, "no server '", name, "' runs on this machine (no socket in ",
          runtime_dir, "/", name, OtherSocketsHint(SocketPath(runtime_dir, name, 0)),
          "); give its --server_name, --ip_config for other machines, or the --runtime_dir that it "
          "was started with");
  }
  std::sort(lines.begin(), lines.end());
  return ParseIpConfig(Join(lines, ""), "the sockets of this machine");
}

}  // namespace

CLI::App* AddControlVerb(CLI::App& verb, const std::string& name, const std::string& help,
                         const char* examples, const std::shared_ptr<ControlArguments>& arguments) {
  CLI::App* const added = verb.add_subcommand(name, help);
  added->footer(examples);
  AddServerName(*added, arguments->hosts);
  AddHostOptions(*added, arguments->hosts);
  added->add_flag("--json", arguments->json, "Print JSON");
  return added;
}

void AddReason(CLI::App& action, ControlArguments& arguments) {
  action.add_option("--reason", arguments.order.reason,
                    "Text for the log and for those who are refused");
}

std::vector<ControlAnswer> AskDaemons(
    ControlArguments& arguments,
    const std::function<void(size_t host, const nlohmann::json& frame)>& on_progress) {
  HostOptions& options = arguments.hosts;
  Resolve(options);
  if (options.lines.empty()) options.lines = DaemonsHere(options);
  arguments.order.by = OperatorName();
  arguments.order.part_config = options.server.part_config;
  auto plan = PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kControl);
  for (HostPlan& host : plan) host.order.control = arguments.order;
  const std::vector<HostAnswer> answers = AskHosts(plan, options, on_progress);
  std::vector<ControlAnswer> all;
  for (size_t i = 0; i < plan.size(); i++) {
    const ServerSpec& server = plan[i].order.server;
    ControlAnswer& answer = all.emplace_back();
    answer.host = HostPort(server.address, server.port);
    answer.ok = answers[i].ok;
    answer.code = answers[i].code;
    answer.error = answers[i].error;
    answer.answer = nlohmann::json::object();
    for (const nlohmann::json& frame : answers[i].frames) {
      if (ValueOr(frame, "t", "") == "control") {
        answer.answer = ValueOr(frame, "answer", nlohmann::json::object());
      }
    }
  }
  return all;
}

void ShowAnswers(const ControlArguments& arguments, const std::vector<ControlAnswer>& answers,
                 const std::function<std::string(const ControlAnswer&)>& show) {
  nlohmann::json list = nlohmann::json::array();
  int code = 0;
  for (const ControlAnswer& answer : answers) {
    if (arguments.json) {
      nlohmann::json entry = answer.answer;
      entry["host"] = answer.host;
      entry["ok"] = answer.ok;
      if (!answer.ok) entry["error"] = answer.error;
      list.push_back(std::move(entry));
    } else if (answer.ok) {
      std::fputs(show(answer).c_str(), stdout);
    } else {
      std::fprintf(stderr, "graphctl: %s: %s\n", answer.host.c_str(), answer.error.c_str());
    }
    if (!answer.ok && code == 0) code = ExitCode(answer.code);
  }
  if (arguments.json) {
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  SetExitCode(code);
}

}  // namespace graphd::ctl
