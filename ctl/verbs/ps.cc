// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "ctl/hosts/server_status.h"
#include "ctl/verbs/find_servers.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kPsExamples = R"(
Examples:
  graphctl ps                                     # every server of this machine
  graphctl ps --server_name products --ip_config ip_config.txt --json
)";

struct PsArguments {
  HostOptions hosts;
  bool json = false;
};

void Ps(PsArguments& arguments, bool named) {
  HostOptions& options = arguments.hosts;
  Resolve(options);
  const std::string runtime_dir = RuntimeDirOf(options);
  const std::vector<FoundServer> all =
      FindServers(options, runtime_dir, {.only = named ? options.server.server_name : ""});
  bool failed = named && all.empty();
  nlohmann::json list = nlohmann::json::array();
  for (const FoundServer& found : all) {
    failed = failed || !found.serves();
    if (arguments.json) {
      nlohmann::json entry = {{"host", found.host}};
      entry[found.error.empty() ? "status" : "error"] =
          found.error.empty() ? found.status : nlohmann::json(found.error);
      list.push_back(std::move(entry));
    } else if (found.error.empty()) {
      std::fputs(StatusToText(found.host, found.status).c_str(), stdout);
    } else {
      std::printf("%s: %s\n", found.host.c_str(), found.error.c_str());
    }
  }
  if (arguments.json) {
    std::puts(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else if (all.empty()) {
    std::printf("%s\n", NoServerText(options, runtime_dir, named).c_str());
  }
  if (failed) SetExitCode(ExitCode(ErrorCode::kUnavailable));
}

}  // namespace

void AddPs(CLI::App& app) {
  auto arguments = std::make_shared<PsArguments>();
  CLI::App* verb = app.add_subcommand("ps", "Show servers, their graphs and their jobs");
  verb->footer(kPsExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback(
      [arguments, verb] { Ps(*arguments, verb->get_option("--server_name")->count() > 0); });
}

}  // namespace graphd::ctl
