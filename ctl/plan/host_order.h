// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ctl/plan/control_order.h"
#include "ctl/plan/user_command.h"
#include "graphd/schema.h"

// Defines HostOrder, the order that graphctl sends to a `graphctl supervise` process on a host.
// There is one such process for each daemon, and for each host that runs trainers only. The order
// is sent as one line of JSON over standard input, so that no part of it passes through a remote
// shell.

namespace graphd::ctl {

// The description of a daemon: how to reach it, and how to start it if it is not running.
struct ServerSpec {
  std::string server_name;
  std::string address;  // its address in ip_config
  uint16_t port = 0;
  std::vector<PartId> parts;
  std::string part_config;  // absolute path on the host; empty: only attach to a running server
  int num_parts = 0;        // the graph's partitions, one per line of ip_config
  std::string graphd;       // path of the program on the host; empty: beside its graphctl
  std::string runtime_dir;  // empty: the host's default
  int num_servers = 0;      // worker threads of the daemon; 0: its default
  // Settings of the daemon for tensors; empty: the daemon's defaults.
  std::string state_dir, durability, memory_dir;
  uint64_t embedding_memory = 0;  // bytes; 0: no limit
  bool keep_alive = false;
  bool insecure = false;
  std::string keys;    // directory of keys on the host, or "default"; empty: TCP without TLS
  std::string secret;  // file of the shared secret on the host, or "default"; empty: none
  double start_timeout = 600;  // seconds that the daemon may take to load
  bool among_others = false;   // other machines serve or compute, too, and must reach `address`
};

struct TrainerPlan {
  int rank = 0, local_rank = 0, local_world_size = 1;
  // The partition of the line of ip_config to which the trainer belongs; -1: none, as on a host of
  // --trainer_hosts.
  PartId part = -1;
  std::string label;         // "host:rank", the prefix of each line that the trainer prints
  bool is_torchrun = false;  // this is torchrun, which starts all trainers of its host
};

// A slot is a place where trainers of a job run: a line of ip_config, or a host of --trainer_hosts.
// The number of trainers in a slot may differ from one attempt of the job to the next.
struct TrainerSlot {
  int host = 0;           // the number of its host among the job's hosts
  std::string address;    // the address by which other hosts reach its host
  PartId part = -1;       // -1: none, as on a host of --trainer_hosts
  int machine = 0;        // slots with the same number share a machine's cores
  uint32_t trainers = 0;  // their number at the launch
};

// The settings that all trainers of the job share.
struct JobSpec {
  std::string job_id;
  std::string secret;     // lets trainers join the job; never shown
  std::string workspace;  // the trainers' working directory
  std::string log_dir;    // directory on the host for the trainers' output; empty: JobDirectory
  bool no_logs = false;   // if the launcher leads the job, its hosts keep no record of it
  std::string
      ip_config;  // path on the host; replaced by a file with ip_config_text if missing or empty
  std::string ip_config_text;
  UserCommand command;
  std::string master_addr;
  int world_size = 0;
  int num_samplers = 0;
  uint64_t row_cache = 0;   // bytes on each machine; 0: none
  int num_omp_threads = 0;  // 0: the machine's cores divided by its trainers
  std::vector<std::string> extra_envs;
  int master_port = 0;      // 0: a free port, chosen on the master's host
  bool detach = false;      // the job continues when its launcher has ended
  int max_restarts = 0;     // the number of times that failed trainers are started again
  int remote_trainers = 0;  // trainers on hosts without a partition; they have the last ranks
  std::vector<std::string> trainer_hosts;  // the addresses of these hosts
  // All slots, in the order of ranks; empty if torchrun numbers the trainers.
  std::vector<TrainerSlot> slots;
  // If hosts of --trainer_hosts are lost, the job goes on as long as this many trainers are left;
  // 0: the job ends with the first lost host.
  int min_trainers = 0;
};

// The position of a host in a job whose hosts decide together when trainers start, start again and
// end. The hosts meet at one daemon of the job, which means that they exchange their reports
// through it.
struct Meeting {
  int host = 0, num_hosts = 1;  // the host's number, in the order of ip_config
  std::string name;             // the host's, for messages
  std::string address;          // the address of the daemon where the hosts meet
  uint16_t port = 0;
  double host_timeout = 20;  // another host is lost after so many seconds of silence
  bool joins = false;        // the job already runs; this host joins it at the next attempt
};

// The request of `graphctl attach`, `logs` and `wait` for the state and the output of a job.
struct FollowSpec {
  std::string job;
  bool output = true;      // send the trainers' output
  int64_t lines = -1;      // number of last lines of each trainer to send; < 0: all that are kept
  bool until_end = false;  // also send later lines, until the job has ended
};

// The request of `graphctl restart`.
struct RestartSpec {
  std::string job;
  int num_trainers = 0;           // in each slot, from now on; 0: unchanged
  double grace = 0;               // seconds for the running trainers to end; 0: the default
  std::vector<uint32_t> joining;  // hosts whose supervisors were just started: wait for them
};

// The request of `graphctl server logs` for the log of a server on a host.
struct LogsSpec {
  int64_t lines = -1;       // number of last records to send; < 0: all since `since`
  double since = 0;         // seconds since 1970
  std::string least_level;  // the lowest level to send; "warning": warnings and errors
  bool follow = false;      // also send records that are written later
  bool has_journal = true;  // also send the records that the journal has
};

// A file of a directory of keys; see tls/key_directory.h.
struct KeyFile {
  std::string name, text;
};

enum class HostAction {
  kRun,
  kStart,
  kStatus,
  kStopJobs,
  kStopServer,
  kControl,
  kInstallKeys,
  kExamine,
  kFollowJob,
  kTellJobOrder,
  kRestartJob,
  kServerLogs
};

struct HostOrder {
  HostAction action = HostAction::kRun;
  std::string version;  // version of the graphctl that sends the order
  // The host runs trainers only. No daemon is looked for there, and only the name, the address and
  // the settings for clients in `server` are used.
  bool only_trainers = false;
  ServerSpec server;
  // These are used by kRun only.
  JobSpec job;
  std::vector<TrainerPlan> trainers;
  int trainers_on_machine = 0;
  bool is_master = false;   // the host's first trainer is rank 0
  double host_timeout = 0;  // seconds of silence until the job ends; 0: only at end of file
  double server_grace = 0;  // seconds to wait until a daemon that has ended runs again
  Meeting meeting;
  // These are used by kStopJobs and kStopServer only.
  std::string stop_job;   // empty: every job
  double stop_grace = 0;  // seconds that trainers of a detached job have to end; 0: the default
  bool force = false;
  double stop_timeout = -1;  // seconds until a server ends without writing all rows back; < 0: none
  bool operations = false;   // only for kStatus: the status has the times of operations
  ControlOrder control;      // only for kControl
  // The addresses of the other daemons, each as "host:port". Only kExamine uses them.
  std::vector<std::string> peers;
  // The files that kInstallKeys writes to server.keys, in this order.
  std::vector<KeyFile> key_files;
  // This is used by kFollowJob only.
  FollowSpec follow;
  // This is used by kRestartJob. kTellJobOrder uses only its member `job`.
  RestartSpec restart;
  // This is used by kServerLogs only.
  LogsSpec logs;
};

// Returns whether the hosts of the job decide together, without a launcher, when its trainers
// start, start again and end.
inline bool HostsMeet(const JobSpec& job) { return job.detach || job.max_restarts > 0; }

// Returns the name of the trainer with a rank for messages: "trainer 3", or "torchrun".
std::string TrainerName(const HostOrder& order, int rank);

std::string EncodeOrder(const HostOrder& order);
// Throws Error(kInvalid) if `line` is not an order.
HostOrder DecodeOrder(const std::string& line);

// Returns the variables that a trainer's environment has in addition to those of its supervisor.
// `cores`: the number of cores of the trainer's machine. `ip_config`: the path of that file there.
// `attempt`: the number of times that the job's trainers were started again before.
std::vector<std::pair<std::string, std::string>> TrainerEnvironment(const HostOrder& order,
                                                                    const TrainerPlan& trainer,
                                                                    int master_port, int cores,
                                                                    const std::string& ip_config,
                                                                    uint32_t attempt = 0);

}  // namespace graphd::ctl
