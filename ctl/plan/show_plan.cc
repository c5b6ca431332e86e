// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/plan/launch_plan.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

std::string PartsText(const std::vector<PartId>& parts) {
  std::vector<std::string> words;
  for (PartId part : parts) words.push_back(StrCat(part));
  return Join(words, ",");
}

// Returns the variables that are known before the launch. The number of a remote host's cores is
// not known, so OMP_NUM_THREADS is shown only if it was given.
nlohmann::json EnvironmentJson(const LaunchPlan& plan, const HostOrder& order,
                               const TrainerPlan& trainer) {
  nlohmann::json variables = nlohmann::json::object();
  for (const auto& [name, value] :
       TrainerEnvironment(order, trainer, plan.master_port, 0, order.job.ip_config)) {
    if (name != "GRAPHD_JOB_SECRET") variables[name] = value;
  }
  if (order.job.num_omp_threads == 0) variables["OMP_NUM_THREADS"] = "cores/trainers";
  if (plan.master_port == 0) variables["MASTER_PORT"] = "free port";
  if (order.job.ip_config.empty()) variables["GRAPHD_IP_CONFIG"] = "file in memory";
  return variables;
}

// Returns whether hosts have different commands. They do under torchrun, whose command contains the
// number of the host.
bool CommandsDiffer(const LaunchPlan& plan) {
  const auto is_other = [&plan](const HostPlan& host) {
    return !host.order.trainers.empty() &&
           host.order.job.command.words != plan.hosts[0].order.job.command.words;
  };
  return std::ranges::any_of(plan.hosts, is_other);
}

std::string CommandText(const UserCommand& command) {
  return StrCat(command.is_shell ? "command, by /bin/sh: " : "command: ", DisplayCommand(command),
                "\n");
}

std::string TrainerText(const HostPlan& host, const TrainerPlan& trainer) {
  std::string text = StrCat("  trainer: rank ", trainer.rank, ", local rank ", trainer.local_rank);
  if (host.order.only_trainers) return text + ", reads over the network\n";
  return trainer.part < 0 ? text + "\n" : StrCat(text, ", partition ", trainer.part, "\n");
}

std::string WayTo(const HostPlan& host) {
  if (!host.node.empty()) return StrCat(" (by srun, on node ", host.node, ")");
  return host.is_local ? " (this machine)" : " (over ssh)";
}

}  // namespace

std::string PlanToJson(const LaunchPlan& plan) {
  const bool differ = CommandsDiffer(plan);
  nlohmann::json hosts = nlohmann::json::array();
  for (const HostPlan& host : plan.hosts) {
    const ServerSpec& server = host.order.server;
    nlohmann::json trainers = nlohmann::json::array();
    for (const TrainerPlan& trainer : host.order.trainers) {
      nlohmann::json shown = {{"rank", trainer.rank},
                              {"local_rank", trainer.local_rank},
                              {"env", EnvironmentJson(plan, host.order, trainer)}};
      if (trainer.part >= 0) shown["part"] = trainer.part;
      trainers.push_back(std::move(shown));
    }
    nlohmann::json shown = {{"address", server.address},
                            {"local", host.is_local},
                            {"parts", server.parts},
                            {"trainers", trainers}};
    if (!host.node.empty()) shown["node"] = host.node;
    if (!host.order.only_trainers) {
      shown["port"] = server.port;
      shown["part_config"] = server.part_config;
    }
    if (differ) shown["command"] = host.order.job.command.words;
    hosts.push_back(std::move(shown));
  }
  const JobSpec& job = plan.hosts[0].order.job;
  const nlohmann::json all = {{"job", plan.job_id},
                              {"server_name", plan.hosts[0].order.server.server_name},
                              {"keep_alive", plan.hosts[0].order.server.keep_alive},
                              {"world_size", plan.world_size},
                              {"master_addr", plan.master_addr},
                              {"master_port", plan.master_port},
                              {"workspace", job.workspace},
                              {"log_dir", job.log_dir},
                              {"no_logs", job.no_logs},
                              {"shell", job.command.is_shell},
                              {"command", job.command.words},
                              {"hosts", hosts}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string PlanToText(const LaunchPlan& plan) {
  const HostOrder& first = plan.hosts[0].order;
  std::string text = StrCat("job ", plan.job_id, " on server '", first.server.server_name, "' (",
                            first.server.keep_alive ? "keeps running" : "ends with its last job",
                            " if this launch starts it)\n");
  text += StrCat("workspace ", first.job.workspace, "\npart config ", first.server.part_config,
                 "\n", plan.world_size, " trainers, master ", plan.master_addr, ", port ",
                 plan.master_port ? StrCat(plan.master_port) : "chosen by its host", "\n");
  if (!first.job.log_dir.empty()) text += StrCat("logs of trainers ", first.job.log_dir, "\n");
  if (first.job.no_logs) text += "no logs of trainers\n";
  const bool differ = CommandsDiffer(plan);
  if (!differ) text += CommandText(first.job.command);
  for (const HostPlan& host : plan.hosts) {
    const ServerSpec& server = host.order.server;
    const bool only_trainers = host.order.only_trainers;
    text += StrCat("host ", only_trainers ? server.address : HostPort(server.address, server.port),
                   WayTo(host),
                   only_trainers ? std::string("\n  no daemon")
                                 : StrCat("\n  daemon: partition ", PartsText(server.parts)),
                   "\n");
    for (const TrainerPlan& trainer : host.order.trainers) {
      text += TrainerText(host, trainer);
      if (differ) text += "  " + CommandText(host.order.job.command);
    }
    if (host.order.trainers.empty()) text += "  no trainer\n";
  }
  return text;
}

}  // namespace graphd::ctl
