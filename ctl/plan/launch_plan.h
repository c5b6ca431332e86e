// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "ctl/plan/trainer_hosts.h"
#include "wire/ip_config.h"

// The plan of a launch: the orders for all hosts, made from the options and ip_config's lines.
// Planning has no side effects, so that `--dry-run` shows exactly what a launch would do.
//
// Every line of ip_config is a machine in DGL's sense: it has one partition and its own trainers,
// with local ranks from 0. Lines with the same address and port share a daemon and one supervisor.
// Hosts of --trainer_hosts have a supervisor and trainers, but no daemon; their trainers have the
// last ranks.

namespace graphd::ctl {

struct LaunchOptions {
  ServerSpec server;  // address, port and parts are set for each host
  std::string workspace;
  std::string log_dir;    // relative to the workspace; empty: JobDirectory on each host
  bool no_logs = false;   // keep no output of the trainers
  std::string ip_config;  // the path that trainers receive
  int num_trainers = 1;   // for each line of ip_config without a third column
  // Hosts that run trainers only. Each has its own number of trainers or else num_trainers, but at
  // least one.
  std::vector<TrainerHost> trainer_hosts;
  int num_samplers = 0;
  uint64_t row_cache = 0;  // bytes on each machine; 0: none
  int num_omp_threads = 0;
  int master_port = 0;  // 0: a free port, chosen on the master's host
  double host_timeout = 20;
  double server_grace = 30;
  bool detach = false;
  int max_restarts = 0;
  int min_trainers = 0;  // the job survives lost hosts while so many trainers are left; 0: never
  std::vector<std::string> extra_envs;
  UserCommand command;
};

struct HostPlan {
  bool is_local = false;
  std::string name;  // the address, for messages; with its port if the address occurs twice
  HostOrder order;
  std::string where;  // the line of --trainer_hosts that names it; empty: ip_config names it
  std::string node;   // the name of its node of Slurm; empty: Slurm is not used
};

struct LaunchPlan {
  std::string job_id;
  int world_size = 0;
  std::string master_addr;
  int master_port = 0;  // 0: chosen at launch
  // The list begins with an entry for each daemon, in the order in which ip_config first names
  // them. An entry for each host that runs trainers only follows.
  std::vector<HostPlan> hosts;
};

using LocalTest = std::function<bool(const std::string& address)>;

// Returns the hosts with their daemons, but without a job, for `graphctl server` and `ps`.
std::vector<HostPlan> PlanHosts(const ServerSpec& server, const std::vector<HostLine>& lines,
                                const LocalTest& is_local, HostAction action);

// Adds the hosts that run trainers only to `hosts`, which has the hosts with daemons. Their orders
// have the settings of `server` that clients use. Throws Error(kInvalid) for a machine that is
// already among the hosts.
void AddTrainerHosts(const ServerSpec& server, const std::vector<TrainerHost>& trainer_hosts,
                     const LocalTest& is_local, HostAction action, std::vector<HostPlan>& hosts);

// Returns the plan of a launch. Throws Error(kInvalid) for a plan that can't work: one without a
// trainer or a command, with a host that is named twice, or with a loopback address that other
// hosts can't reach.
LaunchPlan MakeLaunchPlan(const LaunchOptions& options, const std::vector<HostLine>& lines,
                          const std::string& ip_config_text, const std::string& job_id,
                          const std::string& secret, const LocalTest& is_local);

std::string PlanToJson(const LaunchPlan& plan);
std::string PlanToText(const LaunchPlan& plan);

// Returns a new job id, made of the date, the time and the process number. It is unique among the
// jobs that one user starts on one machine.
std::string NewJobId();

}  // namespace graphd::ctl
