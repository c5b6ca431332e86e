// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/host_order.h"

#include <algorithm>

#include "base/strict_json.h"
#include "base/strings.h"
#include "graph/id_json.h"

namespace graphd::ctl {

// Defines the functions that NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE defines, but for StrictJson.
#define GRAPHD_JSON_FIELDS(Type, ...)                                               \
  inline void to_json(StrictJson& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))        \
  }                                                                                 \
  inline void from_json(const StrictJson& nlohmann_json_j, Type& nlohmann_json_t) { \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))      \
  }

GRAPHD_JSON_FIELDS(UserCommand, words, is_shell)
GRAPHD_JSON_FIELDS(ServerSpec, server_name, address, port, parts, num_parts, among_others,
                   part_config, graphd, runtime_dir, num_servers, state_dir, durability, memory_dir,
                   embedding_memory, keep_alive, insecure, keys, secret, start_timeout)
GRAPHD_JSON_FIELDS(KeyFile, name, text)
GRAPHD_JSON_FIELDS(TrainerPlan, rank, local_rank, local_world_size, part, label, is_torchrun)
GRAPHD_JSON_FIELDS(TrainerSlot, host, address, part, machine, trainers)
GRAPHD_JSON_FIELDS(JobSpec, job_id, secret, workspace, log_dir, no_logs, ip_config, ip_config_text,
                   command, master_addr, world_size, num_samplers, row_cache, num_omp_threads,
                   extra_envs, master_port, detach, max_restarts, remote_trainers, trainer_hosts,
                   slots, min_trainers)
GRAPHD_JSON_FIELDS(Meeting, host, num_hosts, name, address, port, host_timeout, joins)
GRAPHD_JSON_FIELDS(FollowSpec, job, output, lines, until_end)
GRAPHD_JSON_FIELDS(RestartSpec, job, num_trainers, grace, joining)
GRAPHD_JSON_FIELDS(LogsSpec, lines, since, least_level, follow, has_journal)
NLOHMANN_JSON_SERIALIZE_ENUM(HostAction, {{HostAction::kRun, "run"},
                                          {HostAction::kStart, "start"},
                                          {HostAction::kStatus, "status"},
                                          {HostAction::kStopJobs, "stop_jobs"},
                                          {HostAction::kStopServer, "stop_server"},
                                          {HostAction::kControl, "control"},
                                          {HostAction::kInstallKeys, "install_keys"},
                                          {HostAction::kExamine, "examine"},
                                          {HostAction::kFollowJob, "follow_job"},
                                          {HostAction::kTellJobOrder, "tell_job_order"},
                                          {HostAction::kRestartJob, "restart_job"},
                                          {HostAction::kServerLogs, "server_logs"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ControlVerb, {{ControlVerb::kDrain, "drain"},
                                           {ControlVerb::kUndrain, "undrain"},
                                           {ControlVerb::kEndJob, "end_job"},
                                           {ControlVerb::kLogLevel, "log_level"},
                                           {ControlVerb::kReload, "reload"},
                                           {ControlVerb::kRequests, "requests"},
                                           {ControlVerb::kMemory, "memory"},
                                           {ControlVerb::kSwitch, "switch"}})
GRAPHD_JSON_FIELDS(ControlOrder, verb, by, reason, job, level, most, part_config, version, wait)
GRAPHD_JSON_FIELDS(HostOrder, action, version, only_trainers, server, job, trainers,
                   trainers_on_machine, is_master, host_timeout, server_grace, meeting, stop_job,
                   stop_grace, force, stop_timeout, operations, control, peers, key_files, follow,
                   restart, logs)

std::string TrainerName(const HostOrder& order, int rank) {
  const bool is_torchrun = std::ranges::any_of(order.trainers, [rank](const TrainerPlan& trainer) {
    return trainer.rank == rank && trainer.is_torchrun;
  });
  return is_torchrun ? "torchrun" : StrCat("trainer ", rank);
}

// Throws if a text of the order, such as the command line, is not UTF-8, because JSON can't
// represent it.
std::string EncodeOrder(const HostOrder& order) {
  try {
    return StrictJson(order).dump();
  } catch (const StrictJson::exception&) {
    Throw(ErrorCode::kInvalid,
          "the command, an option or ip_config contains bytes that are not UTF-8; write them as "
          "UTF-8 "
          "or put the command in a script");
  }
}

HostOrder DecodeOrder(const std::string& line) {
  try {
    return StrictJson::parse(line).get<HostOrder>();
  } catch (const std::exception& error) {
    Throw(ErrorCode::kInvalid, "supervise: its first line of input is not an order (", error.what(),
          "); it is started by `graphctl launch`, not by hand");
  }
}

std::vector<std::pair<std::string, std::string>> TrainerEnvironment(const HostOrder& order,
                                                                    const TrainerPlan& trainer,
                                                                    int master_port, int cores,
                                                                    const std::string& ip_config,
                                                                    uint32_t attempt) {
  const JobSpec& job = order.job;
  const int threads = job.num_omp_threads > 0
                          ? job.num_omp_threads
                          : std::max(1, cores / std::max(1, order.trainers_on_machine));
  std::vector<std::pair<std::string, std::string>> variables = {
      {"RANK", StrCat(trainer.rank)},
      {"LOCAL_RANK", StrCat(trainer.local_rank)},
      {"WORLD_SIZE", StrCat(job.world_size)},
      {"LOCAL_WORLD_SIZE", StrCat(trainer.local_world_size)},
      {"MASTER_ADDR", job.master_addr},
      {"MASTER_PORT", StrCat(master_port)},
      {"OMP_NUM_THREADS", StrCat(threads)},
      {"GRAPHD_SERVER_NAME", order.server.server_name},
      {"GRAPHD_IP_CONFIG", ip_config},
      {"GRAPHD_PART_CONFIG", order.server.part_config},
      {"GRAPHD_JOB_ID", job.job_id},
      {"GRAPHD_JOB_SECRET", job.secret},
      {"GRAPHD_PART_ID", trainer.part < 0 ? "" : StrCat(trainer.part)},
      {"GRAPHD_ROLE", order.only_trainers ? "trainer" : "host"},
      {"GRAPHD_REMOTE_TRAINERS", StrCat(job.remote_trainers)},
      {"GRAPHD_RESTART_COUNT", StrCat(attempt)},
      {"GRAPHD_NUM_SAMPLERS", StrCat(job.num_samplers)},
  };
  if (!order.server.runtime_dir.empty()) {
    variables.emplace_back("GRAPHD_RUNTIME_DIR", order.server.runtime_dir);
  }
  if (job.row_cache > 0) variables.emplace_back("GRAPHD_ROW_CACHE", StrCat(job.row_cache));
  if (!order.server.keys.empty()) variables.emplace_back("GRAPHD_KEYS", order.server.keys);
  if (!order.server.secret.empty()) variables.emplace_back("GRAPHD_SECRET", order.server.secret);
  for (const std::string& assignment : job.extra_envs) {
    const size_t equals = assignment.find('=');
    variables.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return variables;
}

}  // namespace graphd::ctl
