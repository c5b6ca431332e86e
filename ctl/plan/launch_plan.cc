// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/launch_plan.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

bool IsLoopbackLiteral(const std::string& address) {
  return address == "localhost" || address == "::1" || address.rfind("127.", 0) == 0;
}

// Rejects a loopback address among several machines: trainers on other machines would connect to
// themselves. Nobody connects to a host that only computes, unless it has rank 0 or the job is
// detached: then other machines watch it, too.
void CheckReachable(const std::vector<HostPlan>& hosts, bool detach) {
  const HostPlan* loopback = nullptr;
  const HostPlan* remote = nullptr;
  for (const HostPlan& host : hosts) {
    const bool is_used = !host.order.only_trainers || host.order.is_master || detach;
    if (is_used && IsLoopbackLiteral(host.order.server.address)) loopback = &host;
    if (!host.is_local) remote = &host;
  }
  if (loopback && remote) {
    Throw(ErrorCode::kInvalid, loopback->where.empty() ? "ip_config" : loopback->where, " names ",
          loopback->order.server.address, ", which ", remote->order.server.address,
          " can't reach; write this machine's address on the network instead");
  }
}

int TrainersOf(const HostLine& line, const LaunchOptions& options) {
  return line.num_trainers.value_or(options.num_trainers);
}

// Returns the machine that an address belongs to: all local addresses are one machine.
std::string MachineOf(const std::string& address, bool is_local) {
  return is_local ? std::string() : address;
}

// Numbers the trainers of a host, or of one of its lines, and adds them.
void AddTrainers(LaunchPlan& plan, HostPlan& host, int count, PartId part) {
  for (int local = 0; local < count; local++) {
    if (plan.world_size == 0) {
      plan.master_addr = host.order.server.address;
      host.order.is_master = true;
    }
    const int rank = plan.world_size++;
    host.order.trainers.push_back({rank, local, count, part, StrCat(host.name, ":", rank)});
  }
}

// Returns the directory of a job's logs; each job has one of its own.
std::string LogDirOf(const LaunchOptions& options, const std::string& job_id) {
  if (options.log_dir.empty()) return {};
  const std::string base = options.log_dir.starts_with('/')
                               ? options.log_dir
                               : StrCat(options.workspace, "/", options.log_dir);
  return StrCat(base, "/", job_id);
}

// Hosts that decide together meet at the first daemon, which all of them reach as trainers do.
void PlanMeeting(LaunchPlan& plan, double host_timeout) {
  const ServerSpec first = plan.hosts[0].order.server;
  for (size_t i = 0; i < plan.hosts.size(); i++) {
    plan.hosts[i].order.meeting = {static_cast<int>(i), static_cast<int>(plan.hosts.size()),
                                   plan.hosts[i].name,  first.address,
                                   first.port,          host_timeout};
  }
}

}  // namespace

std::vector<HostPlan> PlanHosts(const ServerSpec& server, const std::vector<HostLine>& lines,
                                const LocalTest& is_local, HostAction action) {
  std::map<std::string, std::set<uint16_t>> ports;
  for (const HostLine& line : lines) ports[line.address].insert(line.port);
  std::vector<HostPlan> hosts;
  std::set<std::string> machines;
  for (const DaemonAddress& daemon : DaemonsOf(lines)) {
    HostPlan host;
    host.is_local = is_local(daemon.address);
    host.name =
        ports[daemon.address].size() > 1 ? HostPort(daemon.address, daemon.port) : daemon.address;
    host.order.action = action;
    host.order.server = server;
    host.order.server.address = daemon.address;
    host.order.server.port = daemon.port;
    host.order.server.parts = daemon.parts;
    host.order.server.num_parts = static_cast<int>(lines.size());
    machines.insert(MachineOf(daemon.address, host.is_local));
    hosts.push_back(std::move(host));
  }
  for (HostPlan& host : hosts) host.order.server.among_others = machines.size() > 1;
  return hosts;
}

void AddTrainerHosts(const ServerSpec& server, const std::vector<TrainerHost>& trainer_hosts,
                     const LocalTest& is_local, HostAction action, std::vector<HostPlan>& hosts) {
  std::map<std::string, std::string> machines;  // each with the place that names it
  for (const HostPlan& host : hosts) {
    machines.emplace(MachineOf(host.order.server.address, host.is_local), "of ip_config");
  }
  for (const TrainerHost& each : trainer_hosts) {
    HostPlan host;
    host.is_local = is_local(each.address);
    host.name = each.address;
    host.where = each.where;
    const auto [named, is_new] =
        machines.emplace(MachineOf(each.address, host.is_local), "of " + each.where);
    if (!is_new) {
      Throw(ErrorCode::kInvalid, each.where, ": '", each.address, "' is a host ", named->second,
            " already; name it once, and write the number of its trainers into the last column ",
            "there");
    }
    host.order.action = action;
    host.order.only_trainers = true;
    host.order.server = server;
    host.order.server.address = each.address;
    hosts.push_back(std::move(host));
  }
  for (HostPlan& host : hosts) host.order.server.among_others = machines.size() > 1;
}

LaunchPlan MakeLaunchPlan(const LaunchOptions& options, const std::vector<HostLine>& lines,
                          const std::string& ip_config_text, const std::string& job_id,
                          const std::string& secret, const LocalTest& is_local) {
  if (options.command.words.empty() || options.command.words[0].empty()) {
    Throw(ErrorCode::kInvalid,
          "launch: the trainers' command is missing; write it last, as in: graphctl launch ... "
          "\"python3 train.py\"");
  }
  LaunchPlan plan;
  plan.job_id = job_id;
  plan.master_port = options.master_port;
  plan.hosts = PlanHosts(options.server, lines, is_local, HostAction::kRun);
  AddTrainerHosts(options.server, options.trainer_hosts, is_local, HostAction::kRun, plan.hosts);

  std::map<std::pair<std::string, uint16_t>, HostPlan*> host_of;
  for (HostPlan& host : plan.hosts) {
    host_of[{host.order.server.address, host.order.server.port}] = &host;
  }
  std::map<std::string, int> on_machine;
  for (const HostLine& line : lines) {
    HostPlan& host = *host_of[{line.address, line.port}];
    const int count = TrainersOf(line, options);
    on_machine[MachineOf(line.address, host.is_local)] += count;
    AddTrainers(plan, host, count, line.part);
  }
  const int with_partitions = plan.world_size;
  for (size_t i = 0; i < options.trainer_hosts.size(); i++) {
    HostPlan& host = plan.hosts[plan.hosts.size() - options.trainer_hosts.size() + i];
    const int count =
        options.trainer_hosts[i].num_trainers.value_or(std::max(1, options.num_trainers));
    on_machine[MachineOf(host.order.server.address, host.is_local)] += count;
    AddTrainers(plan, host, count, -1);
  }
  if (plan.world_size == 0) {
    Throw(ErrorCode::kInvalid,
          "launch: no host has a trainer; give --num_trainers or --trainer_hosts, or use "
          "`graphctl server start` to serve without a job");
  }
  CheckReachable(plan.hosts, options.detach);
  std::vector<std::string> trainer_hosts;
  for (const TrainerHost& host : options.trainer_hosts) trainer_hosts.push_back(host.address);
  for (HostPlan& host : plan.hosts) {
    host.order.trainers_on_machine =
        on_machine[MachineOf(host.order.server.address, host.is_local)];
    host.order.host_timeout = host.is_local ? 0 : options.host_timeout;
    host.order.server_grace = options.server_grace;
    host.order.job = {job_id,
                      secret,
                      options.workspace,
                      LogDirOf(options, job_id),
                      options.ip_config,
                      ip_config_text,
                      options.command,
                      plan.master_addr,
                      plan.world_size,
                      options.num_samplers,
                      options.row_cache,
                      options.num_omp_threads,
                      options.extra_envs,
                      options.master_port,
                      options.detach,
                      options.max_restarts,
                      plan.world_size - with_partitions,
                      trainer_hosts};
  }
  PlanMeeting(plan, options.host_timeout);
  return plan;
}

std::string NewJobId() {
  const time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  char text[64];
  std::snprintf(text, sizeof text, "%02d%02d-%02d%02d%02d-%d", local.tm_mon + 1, local.tm_mday,
                local.tm_hour, local.tm_min, local.tm_sec, static_cast<int>(::getpid()));
  return text;
}

}  // namespace graphd::ctl
