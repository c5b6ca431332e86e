// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/strings.h"
#include "client/control.h"
#include "ctl/host_options.h"
#include "ctl/server_status.h"
#include "ctl/verbs.h"

namespace graphd::ctl {
namespace {

constexpr const char* kPsExamples = R"(
Examples:
  graphctl ps                                     # every server of this machine
  graphctl ps --server_name products --ip_config ip_config.txt --json
)";

constexpr std::chrono::milliseconds kConnectTimeout{3000};

struct PsArguments {
  HostOptions hosts;
  bool json = false;
};

// A server, or why it could not be asked.
struct Found {
  std::string host;
  nlohmann::json status;
  std::string error;
};

// Sockets are <runtime_dir>/<server_name>/<port>.sock; one where nobody listens is no server.
std::vector<Found> ScanThisMachine(const std::string& runtime_dir, const std::string& only) {
  std::vector<std::filesystem::path> sockets;
  std::error_code ignored;
  for (const auto& server : std::filesystem::directory_iterator(runtime_dir, ignored)) {
    if (!only.empty() && server.path().filename() != only) continue;
    for (const auto& entry : std::filesystem::directory_iterator(server.path(), ignored)) {
      if (entry.path().extension() == ".sock") sockets.push_back(entry.path());
    }
  }
  std::sort(sockets.begin(), sockets.end());
  std::vector<Found> all;
  for (const auto& socket : sockets) {
    const std::string host = StrCat("port ", socket.stem().string());
    try {
      auto client = ControlClient::ConnectUnix(socket.string(), kConnectTimeout);
      all.push_back({host, StatusToJson(client->Status()), ""});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) all.push_back({host, {}, error.what()});
    }
  }
  return all;
}

std::vector<Found> AskAll(const HostOptions& options) {
  const auto hosts = PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kStatus);
  const std::vector<HostAnswer> answers = AskHosts(hosts, options);
  std::vector<Found> all;
  for (size_t i = 0; i < hosts.size(); i++) {
    Found found{HostPort(hosts[i].order.server.address, hosts[i].order.server.port), {}, ""};
    if (answers[i].ok && !answers[i].frames.empty()) {
      found.status = answers[i].frames[0].value("status", nlohmann::json::object());
    } else {
      found.error = answers[i].error;
    }
    all.push_back(std::move(found));
  }
  return all;
}

void Ps(PsArguments& arguments, bool named) {
  HostOptions& options = arguments.hosts;
  Resolve(options);
  const std::string runtime_dir =
      options.server.runtime_dir.empty() ? RuntimeDir() : options.server.runtime_dir;
  const std::vector<Found> all =
      options.lines.empty() ? ScanThisMachine(runtime_dir, named ? options.server.server_name : "")
                            : AskAll(options);
  bool failed = false;
  nlohmann::json list = nlohmann::json::array();
  for (const Found& found : all) {
    failed = failed || !found.error.empty();
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
    std::printf("no server lives in %s\n", runtime_dir.c_str());
  }
  if (failed) SetExitCode(ExitCode(ErrorCode::kUnavailable));
}

}  // namespace

void AddPs(CLI::App& app) {
  auto arguments = std::make_shared<PsArguments>();
  CLI::App* verb = app.add_subcommand("ps", "Shows servers, their graphs and their jobs");
  verb->footer(kPsExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_flag("--json", arguments->json, "As JSON");
  verb->callback(
      [arguments, verb] { Ps(*arguments, verb->get_option("--server_name")->count() > 0); });
}

}  // namespace graphd::ctl
