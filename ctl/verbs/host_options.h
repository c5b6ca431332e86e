// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ctl/hosts/host_link.h"
#include "ctl/plan/launch_plan.h"

// The options that several verbs have in common: which server, on which hosts, how to reach them.

namespace graphd::ctl {

struct HostOptions {
  ServerSpec server;
  std::string workspace;  // made absolute by Resolve
  std::string ip_config;
  std::string graphctl;  // on remote hosts; empty: the same path as here
  SshOptions ssh;

  // What Resolve finds.
  std::string own_path;  // this program's
  std::string ip_config_text;
  std::vector<HostLine> lines;  // empty if no ip_config was given
};

void AddServerName(CLI::App& verb, HostOptions& options);
// --ip_config, --workspace, --runtime_dir and how hosts are reached.
void AddHostOptions(CLI::App& verb, HostOptions& options);
// How remote hosts are reached: --graphctl, --ssh_port and so on.
void AddSshOptions(CLI::App& verb, std::string& graphctl, SshOptions& ssh);
// --part_config, --graphd and what else a daemon is started with.
void AddServerStartOptions(CLI::App& verb, HostOptions& options);

// The path of this program.
std::string OwnPath();

// Makes paths absolute, reads ip_config, finds the programs. Throws Error(kNotFound) naming every
// place where a file was looked for.
void Resolve(HostOptions& options);

// What one host answered to a server order.
struct HostAnswer {
  bool ok = false;
  ErrorCode code = ErrorCode::kUnavailable;
  std::string error;                   // if not ok
  std::vector<nlohmann::json> frames;  // ready, status, stopped_job, notice
};

// Sends each host its order, all at the same time, and waits for all answers. By host.
std::vector<HostAnswer> AskHosts(const std::vector<HostPlan>& hosts, const HostOptions& options);

}  // namespace graphd::ctl
