// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/find_servers.h"

#include <algorithm>
#include <filesystem>

#include "base/directory.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "ctl/hosts/server_status.h"
#include "ctl/plan/json_value.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{3000};

std::string DeadSocketText(const std::filesystem::path& socket, const Error& error) {
  return StrCat("server '", socket.parent_path().filename().string(), "' does not run (",
                error.what(), "; or remove the file if the server is not needed)");
}

// Asks the daemons whose sockets are on this machine.
std::vector<FoundServer> ScanThisMachine(const std::string& runtime_dir, const FindOptions& find) {
  std::vector<std::filesystem::path> sockets;
  for (const std::string& server : ListReadable(runtime_dir)) {
    if (!find.only.empty() && server != find.only) continue;
    const std::filesystem::path directory = std::filesystem::path(runtime_dir) / server;
    for (const std::string& name : ListReadable(directory)) {
      if (PortOfSocketName(name)) sockets.push_back(directory / name);
    }
  }
  std::sort(sockets.begin(), sockets.end());
  std::error_code ignored;
  std::vector<FoundServer> all;
  for (const auto& socket : sockets) {
    const std::string host = StrCat("port ", socket.stem().string());
    if (auto loading = LoadingStatusOf(socket.string())) {
      all.push_back({host, *std::move(loading), ""});
      continue;
    }
    try {
      auto client = ControlClient::ConnectUnix(socket.string(), kConnectTimeout);
      all.push_back({host, StatusToJson(client->Status(), find.operations), ""});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) {
        all.push_back({host, {}, error.what(), error.code() == ErrorCode::kDenied});
      } else if (find.dead == DeadSockets::kReport && std::filesystem::exists(socket, ignored)) {
        // The socket is looked for once more, because a daemon that has stopped may have removed it
        // after the directory was read.
        all.push_back({host, {}, DeadSocketText(socket, error)});
      }
    }
  }
  return all;
}

}  // namespace

std::vector<FoundServer> FindServers(const HostOptions& options, const std::string& runtime_dir,
                                     const FindOptions& find) {
  if (options.lines.empty()) return ScanThisMachine(runtime_dir, find);
  auto hosts = PlanHosts(options.server, options.lines, IsLocalAddress, HostAction::kStatus);
  for (HostPlan& host : hosts) host.order.operations = find.operations;
  const std::vector<HostAnswer> answers = AskHosts(hosts, options, {}, find.on_wait);
  std::vector<FoundServer> all;
  for (size_t i = 0; i < hosts.size(); i++) {
    FoundServer found{HostPort(hosts[i].order.server.address, hosts[i].order.server.port), {}, ""};
    if (answers[i].ok && !answers[i].frames.empty()) {
      found.status = ValueOr(answers[i].frames[0], "status", nlohmann::json::object());
    } else {
      found.error = answers[i].error;
      found.is_denied = answers[i].code == ErrorCode::kDenied;
    }
    all.push_back(std::move(found));
  }
  return all;
}

std::string NoServerText(const HostOptions& options, const std::string& runtime_dir, bool named) {
  const std::string& name = options.server.server_name;
  const std::string hint = named ? OtherServersHint(StrCat(runtime_dir, "/", name)) : "";
  return StrCat("no server ", named ? StrCat("'", name, "' ") : "", "runs in ", runtime_dir, hint,
                hint.empty()
                    ? "; `graphctl server start` starts one, and --ip_config FILE finds those "
                      "of other machines"
                    : "");
}

std::string RuntimeDirOf(const HostOptions& options) {
  const std::string& given = options.server.runtime_dir;
  const std::string& name = options.server.server_name;
  if (given.empty()) return name.empty() ? RuntimeDir() : FindRuntimeDir(name);
  std::error_code ignored;
  if (std::filesystem::exists(given, ignored) && !std::filesystem::is_directory(given, ignored)) {
    Throw(ErrorCode::kInvalid, "--runtime_dir ", given,
          " is not a directory; give the one that the servers were started with");
  }
  return given;
}

}  // namespace graphd::ctl
