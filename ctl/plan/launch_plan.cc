// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/launch_plan.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/strings.h"
#include "ctl/plan/trainer_slots.h"

namespace graphd::ctl {
namespace {

bool IsLoopbackLiteral(const std::string& address) {
  return address == "localhost" || address == "::1" || address.rfind("127.", 0) == 0;
}

// Throws if there are several machines and one has a loopback address, because trainers on other
// machines would connect to themselves. A host that runs trainers only may have such an address,
// because nobody connects to it. It may not if it has rank 0, or if the job is detached, because
// then other machines watch the host.
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

// Returns a key for the machine that an address belongs to. All local addresses have the same key.
std::string MachineOf(const std::string& address, bool is_local) {
  return is_local ? std::string() : address;
}

// Returns the slots of the job: the lines of ip_config, and then the hosts that run trainers only.
std::vector<TrainerSlot> PlanSlots(const LaunchOptions& options, const std::vector<HostLine>& lines,
                                   const std::vector<HostPlan>& hosts) {
  std::map<std::pair<std::string, uint16_t>, int> host_of;
  std::map<std::string, int> machines;
  const auto slot_of = [&](int host, PartId part, int count) {
    const HostPlan& plan = hosts[static_cast<size_t>(host)];
    const std::string& address = plan.order.server.address;
    const int machine =
        machines.emplace(MachineOf(address, plan.is_local), static_cast<int>(machines.size()))
            .first->second;
    return TrainerSlot{host, address, part, machine, static_cast<uint32_t>(count)};
  };
  for (size_t i = 0; i < hosts.size(); i++) {
    const ServerSpec& server = hosts[i].order.server;
    host_of[{server.address, server.port}] = static_cast<int>(i);
  }
  std::vector<TrainerSlot> slots;
  for (const HostLine& line : lines) {
    slots.push_back(
        slot_of(host_of.at({line.address, line.port}), line.part, TrainersOf(line, options)));
  }
  int host = static_cast<int>(hosts.size() - options.trainer_hosts.size());
  for (const TrainerHost& each : options.trainer_hosts) {
    slots.push_back(
        slot_of(host++, -1, each.num_trainers.value_or(std::max(1, options.num_trainers))));
  }
  return slots;
}

// The smallest --host_timeout of a job that goes on without lost hosts. A host that is cut off
// begins to end its trainers after half of the timeout. This takes a moment, and must be finished
// before the other hosts regard the host as lost.
constexpr double kLeastHostTimeout = 4;

// Throws if the job never has --min_trainers trainers, or if its other options don't let it go on
// without a lost host.
void CheckMinTrainers(const LaunchOptions& options, int64_t num_trainers) {
  if (options.min_trainers == 0) return;
  if (options.min_trainers > num_trainers) {
    Throw(ErrorCode::kInvalid, "--min_trainers ", options.min_trainers, ": the job has only ",
          num_trainers, " trainers when all hosts are there; give that number or a smaller one");
  }
  if (!options.detach || options.max_restarts == 0) {
    Throw(ErrorCode::kInvalid,
          "--min_trainers needs --detach and --max_restarts: a job goes on without a lost host by "
          "starting its trainers again, and its launcher would end it with the host");
  }
  if (options.trainer_hosts.empty()) {
    Throw(ErrorCode::kInvalid,
          "--min_trainers needs --trainer_hosts: a job can only go on without hosts that serve no "
          "partition");
  }
  if (options.host_timeout < kLeastHostTimeout) {
    Throw(ErrorCode::kInvalid, "--min_trainers needs a --host_timeout of at least ",
          kLeastHostTimeout, " s: a host that is cut off ends its trainers after half of it, ",
          "before the others go on without it");
  }
}

void CheckLogs(const LaunchOptions& options) {
  if (!options.no_logs) return;
  if (options.detach || options.max_restarts > 0) {
    Throw(ErrorCode::kInvalid,
          "--no_logs does not work with --detach and --max_restarts: hosts that decide together "
          "keep what they know of the job, and its output");
  }
  if (!options.log_dir.empty()) {
    Throw(ErrorCode::kInvalid, "--no_logs and --log_dir contradict each other; leave out one");
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

// Sets the meeting of each host. Hosts that decide together exchange their reports through the
// first daemon. All of them can reach it, because trainers must reach it, too.
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
  std::map<std::string, std::string> machines;  // each with the file and line that name it
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

  PlanMeeting(plan, options.host_timeout);
  JobSpec job;
  job.slots = PlanSlots(options, lines, plan.hosts);
  const std::vector<uint32_t> trainers = TrainersAtLaunch(job);
  if (NumTrainers(trainers) == 0) {
    Throw(ErrorCode::kInvalid,
          "launch: no host has a trainer; give --num_trainers or --trainer_hosts, or use "
          "`graphctl server start` to serve without a job");
  }
  CheckMinTrainers(options, NumTrainers(trainers));
  CheckLogs(options);
  job.job_id = job_id;
  job.secret = secret;
  job.workspace = options.workspace;
  job.log_dir = LogDirOf(options, job_id);
  job.no_logs = options.no_logs;
  job.ip_config = options.ip_config;
  job.ip_config_text = ip_config_text;
  job.command = options.command;
  job.num_samplers = options.num_samplers;
  job.row_cache = options.row_cache;
  job.num_omp_threads = options.num_omp_threads;
  job.extra_envs = options.extra_envs;
  job.master_port = options.master_port;
  job.detach = options.detach;
  job.max_restarts = options.max_restarts;
  job.min_trainers = options.min_trainers;
  for (const TrainerHost& host : options.trainer_hosts) job.trainer_hosts.push_back(host.address);
  for (HostPlan& host : plan.hosts) {
    host.order.host_timeout = host.is_local ? 0 : options.host_timeout;
    host.order.server_grace = options.server_grace;
    host.order.job = job;
    AssignTrainers(trainers, host.order);
  }
  plan.world_size = plan.hosts[0].order.job.world_size;
  plan.master_addr = plan.hosts[0].order.job.master_addr;
  CheckReachable(plan.hosts, options.detach);
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
