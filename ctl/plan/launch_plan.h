// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "wire/ip_config.h"

// From options and ip_config lines to what every host is told: pure, so that `--dry-run` shows
// exactly what a launch would do.
//
// Every ip_config line is a machine in DGL's sense: it has a partition and trainers of its own,
// with local ranks from 0. Lines with the same address and port share a daemon and one supervisor.

namespace graphd::ctl {

struct LaunchOptions {
  ServerSpec server;  // address, port and parts are filled in by host
  std::string workspace;
  std::string ip_config;  // path that trainers are given
  int num_trainers = 1;   // per ip_config line; its third column overrides
  int num_samplers = 0;
  int num_omp_threads = 0;
  int master_port = 0;  // 0: a free one, chosen on the master's host
  double host_timeout = 20;
  std::vector<std::string> extra_envs;
  UserCommand command;
};

struct HostPlan {
  bool is_local = false;
  std::string name;  // for messages: the address, with its port where an address occurs twice
  HostOrder order;
};

struct LaunchPlan {
  std::string job_id;
  int world_size = 0;
  std::string master_addr;
  int master_port = 0;          // 0: chosen at launch
  std::vector<HostPlan> hosts;  // one per daemon, in order of first appearance
};

using LocalTest = std::function<bool(const std::string& address)>;

// Hosts with their daemons, without a job: what `graphctl server` and `ps` need.
std::vector<HostPlan> PlanHosts(const ServerSpec& server, const std::vector<HostLine>& lines,
                                const LocalTest& is_local, HostAction action);

// Throws Error(kInvalid) for a plan that can't work: no trainer, no command, a loopback address
// beside hosts that can't reach it.
LaunchPlan MakeLaunchPlan(const LaunchOptions& options, const std::vector<HostLine>& lines,
                          const std::string& ip_config_text, const std::string& job_id,
                          const LocalTest& is_local);

std::string PlanToJson(const LaunchPlan& plan);
std::string PlanToText(const LaunchPlan& plan);

// Date, time and process: unique among the jobs that one user starts.
std::string NewJobId();

}  // namespace graphd::ctl
