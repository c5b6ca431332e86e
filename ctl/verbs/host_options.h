// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "ctl/hosts/host_link.h"
#include "ctl/plan/launch_plan.h"

// The options that several verbs share. They say which server is meant, on which hosts it runs, and
// how to connect to these hosts.

namespace graphd::ctl {

struct HostOptions {
  ServerSpec server;
  std::string workspace;  // made absolute by Resolve
  std::string ip_config;
  std::string trainer_hosts;  // the path of the file; empty: all hosts have partitions
  std::string graphctl;       // path on remote hosts; empty: the same path as here
  SshOptions ssh;

  // Set by Resolve.
  std::string own_path;  // path of this program
  std::string ip_config_text;
  std::vector<HostLine> lines;             // empty if no ip_config was given
  std::vector<TrainerHost> trainers_only;  // the hosts that the file trainer_hosts names
};

void AddServerName(CLI::App& verb, HostOptions& options);
// Adds --ip_config, --workspace, --runtime_dir and the options of AddSshOptions.
void AddHostOptions(CLI::App& verb, HostOptions& options);
// Adds --trainer_hosts.
void AddTrainerHostsOption(CLI::App& verb, HostOptions& options);
// Adds the options for connecting to remote hosts: --graphctl, --ssh_port and so on.
void AddSshOptions(CLI::App& verb, std::string& graphctl, SshOptions& ssh);
// Adds --part_config, --graphd and the other options for starting a daemon.
void AddServerStartOptions(CLI::App& verb, HostOptions& options);

// Returns the path of this program.
std::string OwnPath();

// Makes paths absolute, reads the files ip_config and trainer_hosts, and finds the programs. Throws
// Error(kNotFound), which names every place where a file was looked for.
void Resolve(HostOptions& options);

// The answer of one host to a server order.
struct HostAnswer {
  bool ok = false;
  ErrorCode code = ErrorCode::kUnavailable;
  std::string error;                   // set if not ok
  std::vector<nlohmann::json> frames;  // kinds: ready, status, stopped_job, notice, facts
  double clock = 0;  // this machine's time when the last frame came: seconds since 1970
};

// Sends all hosts their orders concurrently and waits for all answers. Returns one answer per host.
// Calls `on_progress`, if given, for each frame of the kind "progress", and `on_wait`, if given,
// ten times a second.
std::vector<HostAnswer> AskHosts(
    const std::vector<HostPlan>& hosts, const HostOptions& options,
    const std::function<void(size_t host, const nlohmann::json& frame)>& on_progress = {},
    const std::function<void()>& on_wait = {});

}  // namespace graphd::ctl
