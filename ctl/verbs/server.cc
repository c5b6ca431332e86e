// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>

#include "base/strings.h"
#include "ctl/hosts/server_status.h"
#include "ctl/plan/json_value.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/host_options.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kServerExamples = R"(
Without --ip_config, the server is that of this machine at 127.0.0.1:30050 with partition 0.

Examples:
  graphctl server start --server_name products --ip_config ip_config.txt \
      --part_config data/ogb-product.json
  graphctl server status --server_name products --ip_config ip_config.txt
  graphctl server stop --server_name products --ip_config ip_config.txt --force
)";

struct ServerArguments {
  HostOptions hosts;
  bool force = false, json = false;
  double timeout = -1;  // seconds; negative: none
};

std::vector<HostPlan> Plan(HostOptions& options, HostAction action) {
  Resolve(options);
  if (options.lines.empty()) options.lines = ParseIpConfig("127.0.0.1", "default");
  options.server.keep_alive = true;
  return PlanHosts(options.server, options.lines, IsLocalAddress, action);
}

// Shows the progress of the daemons of all hosts together, which write changed rows back before
// they end.
class WriteBackBar {
 public:
  explicit WriteBackBar(size_t hosts) : done_(hosts), total_(hosts) {}
  std::function<void(size_t host, const nlohmann::json& frame)> Callback() {
    return [this](size_t host, const nlohmann::json& frame) {
      done_[host] = ValueOr(frame, "done", uint64_t{0});
      total_[host] = ValueOr(frame, "total", uint64_t{0});
      const uint64_t done = std::accumulate(done_.begin(), done_.end(), uint64_t{0});
      const uint64_t total = std::accumulate(total_.begin(), total_.end(), uint64_t{0});
      if (total == 0) return;
      line_.Show("writing changed rows back", done, total,
                 TransferText(done, total, SecondsSince(start_)));
    };
  }
  void Finish() { line_.Finish(); }

 private:
  std::vector<uint64_t> done_, total_;  // bytes, by host
  const Clock::time_point start_ = Clock::now();
  ProgressLine line_;
};

// Sends all hosts their orders, and prints the text that `show` returns for each answer. The first
// failure determines graphctl's exit code.
void AskAndShow(
    const std::vector<HostPlan>& plan, const ServerArguments& arguments,
    const std::function<std::string(const std::string& host, const HostAnswer&)>& show) {
  WriteBackBar bar(plan.size());
  const std::vector<HostAnswer> answers = AskHosts(plan, arguments.hosts, bar.Callback());
  bar.Finish();
  nlohmann::json list = nlohmann::json::array();
  int code = 0;
  for (size_t i = 0; i < plan.size(); i++) {
    const ServerSpec& server = plan[i].order.server;
    const std::string host = HostPort(server.address, server.port);
    if (arguments.json) {
      nlohmann::json entry = {{"host", host}, {"ok", answers[i].ok}};
      if (!answers[i].ok) entry["error"] = answers[i].error;
      for (const nlohmann::json& frame : answers[i].frames) {
        if (frame.contains("status")) entry["status"] = frame["status"];
      }
      list.push_back(std::move(entry));
    } else if (answers[i].ok) {
      std::fputs(show(host, answers[i]).c_str(), stdout);
    } else {
      std::fprintf(stderr, "graphctl: %s: %s\n", host.c_str(), answers[i].error.c_str());
    }
    if (!answers[i].ok && code == 0) code = ExitCode(answers[i].code);
    for (const nlohmann::json& frame : answers[i].frames) {
      const auto status = ValueOr(frame, "status", nlohmann::json::object());
      const bool loads = ValueOr(status, "state", "") == "loading";
      if (loads && code == 0) code = ExitCode(ErrorCode::kUnavailable);
    }
  }
  if (arguments.json) {
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  SetExitCode(code);
}

void Start(ServerArguments& arguments) {
  const auto plan = Plan(arguments.hosts, HostAction::kStart);
  AskAndShow(plan, arguments, [](const std::string& host, const HostAnswer& answer) {
    bool started = false;
    double seconds = 0;
    std::string other;  // the part config that the running server has instead of the one given
    std::string changed_files;  // a text if these have changed since the server read them
    for (const nlohmann::json& frame : answer.frames) {
      started = ValueOr(frame, "started", started);
      seconds = ValueOr(frame, "seconds", seconds);
      other = ValueOr(frame, "part_config", other);
      changed_files = ValueOr(frame, "changed_files", changed_files);
    }
    if (!other.empty()) {
      return StrCat(host, ": was already running, with ", other,
                    "; `graphctl server switch` makes it serve another version\n");
    }
    if (!changed_files.empty()) {
      return StrCat(host, ": was already running, and ", changed_files, "\n");
    }
    char text[64];
    std::snprintf(text, sizeof text, "ready in %.3f s", seconds);
    return StrCat(host, ": ", started ? text : "was already running", "\n");
  });
}

void Stop(ServerArguments& arguments) {
  auto plan = Plan(arguments.hosts, HostAction::kStopServer);
  for (HostPlan& host : plan) {
    host.order.force = arguments.force;
    host.order.stop_timeout = arguments.timeout;
  }
  AskAndShow(plan, arguments,
             [](const std::string& host, const HostAnswer&) { return host + ": stopped\n"; });
}

void Status(ServerArguments& arguments) {
  const auto plan = Plan(arguments.hosts, HostAction::kStatus);
  AskAndShow(plan, arguments, [](const std::string& host, const HostAnswer& answer) {
    std::string text;
    for (const nlohmann::json& frame : answer.frames) {
      text += StatusToText(host, ValueOr(frame, "status", nlohmann::json::object()));
    }
    return text;
  });
}

}  // namespace

void AddServer(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("server", "Start, stop, show and control the daemons of a server");
  verb->require_subcommand(1);
  verb->footer(kServerExamples);
  struct Action {
    const char *name, *help;
    void (*run)(ServerArguments&);
  };
  for (const Action& action :
       {Action{"start", "Start the daemons that are not running", Start},
        Action{"stop", "Stop the daemons; refused while jobs are attached, unless --force", Stop},
        Action{"status", "Show the daemons; exit code 0 if all are running, else 5", Status}}) {
    auto arguments = std::make_shared<ServerArguments>();
    CLI::App* sub = verb->add_subcommand(action.name, action.help);
    sub->footer(kServerExamples);
    AddServerName(*sub, arguments->hosts);
    AddHostOptions(*sub, arguments->hosts);
    if (action.run == Start) AddServerStartOptions(*sub, arguments->hosts);
    sub->add_flag("--json", arguments->json, "Print JSON");
    if (action.run == Stop) {
      sub->add_flag("--force", arguments->force,
                    "Stop them even while jobs are attached, whose trainers then wait for them "
                    "or fail");
      sub->add_option("--timeout", arguments->timeout,
                      "Seconds until they end even if changed rows are not written back; these "
                      "stay in memory files or in the push log, for the next start on the machine")
          ->check(CLI::Range(0.0, 1e9, "NONNEGATIVE"));
    }
    sub->callback([arguments, run = action.run] { run(*arguments); });
  }
}

}  // namespace graphd::ctl
