// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ctl/plan/user_command.h"
#include "graphd/schema.h"

// What graphctl tells the `graphctl supervise` process of one daemon to do. It crosses to other
// hosts as one line of JSON, so that nothing of it passes through a remote shell.

namespace graphd::ctl {

// How a daemon is found, and started if there is none.
struct ServerSpec {
  std::string server_name;
  std::string address;  // as in ip_config
  uint16_t port = 0;
  std::vector<PartId> parts;
  std::string part_config;  // absolute path on the host; empty: only attach to a living server
  int num_parts = 0;        // of the graph: lines of ip_config
  std::string graphd;       // path of the program on the host; empty: beside its graphctl
  std::string runtime_dir;  // empty: the host's own default
  int num_servers = 0;      // the daemon's worker threads; 0: its own default
  // Of its tensors; empty: its own defaults.
  std::string state_dir, durability, memory_dir;
  uint64_t embedding_memory = 0;  // bytes; 0: no limit
  bool keep_alive = false;
  bool insecure = false;
  double start_timeout = 600;  // seconds that loading may take
  bool among_others = false;   // other machines serve partitions, too: they must reach `address`
};

struct TrainerPlan {
  int rank = 0, local_rank = 0, local_world_size = 1;
  PartId part = 0;    // of its ip_config line
  std::string label;  // "host:rank", before each line of its output
};

// What every trainer of the job shares.
struct JobSpec {
  std::string job_id;
  std::string workspace;  // their working directory
  std::string ip_config;  // path on the host; made from the text below where it does not exist
  std::string ip_config_text;
  UserCommand command;
  std::string master_addr;
  int world_size = 0;
  int num_samplers = 0;
  int num_omp_threads = 0;  // 0: cores / trainers of the machine
  std::vector<std::string> extra_envs;
};

enum class HostAction { kRun, kStart, kStatus, kStopJobs, kStopServer };

struct HostOrder {
  HostAction action = HostAction::kRun;
  std::string version;  // of the graphctl that sends it
  ServerSpec server;
  // kRun
  JobSpec job;
  std::vector<TrainerPlan> trainers;
  int trainers_on_machine = 0;
  bool is_master = false;   // its first trainer is rank 0
  double host_timeout = 0;  // ends the job when nothing was heard for so long; 0: only at EOF
  // kStopJobs, kStopServer
  std::string stop_job;  // empty: every job
  bool force = false;
};

std::string EncodeOrder(const HostOrder& order);
// Throws Error(kInvalid) if it is not one.
HostOrder DecodeOrder(const std::string& line);

// The variables that a trainer finds besides those its supervisor has itself. `cores` and
// `ip_config` are those of its machine.
std::vector<std::pair<std::string, std::string>> TrainerEnvironment(const HostOrder& order,
                                                                    const TrainerPlan& trainer,
                                                                    int master_port, int cores,
                                                                    const std::string& ip_config);

}  // namespace graphd::ctl
