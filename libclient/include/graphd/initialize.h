// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "graphd/error.h"
#include "graphd/export.h"

// The entry point of a trainer. `graphctl launch` sets the environment variables that
// Options::FromEnvironment reads; then
//
//   auto session = graphd::Initialize();
//   graphd::DistGraph graph(session, "ogb-product");
//
// Matches dgl.distributed.initialize, but is not a collective call: it connects to the daemons (to
// those of this machine through their Unix sockets, and maps their memory), agrees on the protocol
// version and returns.

namespace graphd {
class GraphAccess;  // Internal: access to the partitions.
}  // namespace graphd

namespace GRAPHD_EXPORT graphd {

// The way in which partitions are reached.
enum class Transport {
  kAuto,  // daemons on this machine through mapped memory, others over TCP
  kUnix,  // daemons on this machine by RPC over their Unix sockets (for measurements and tests)
  kTcp,   // all daemons by RPC over TCP (for measurements and tests)
};

// The role of the machine that a process runs on.
enum class MachineRole {
  kHost,     // it is a host of ip_config, which also runs the daemon of its partition
  kTrainer,  // it may be any machine: one that serves no partition reads everything over TCP
};

// The settings of a session, with the environment variable of each.
struct Options {
  std::string server_name;  // GRAPHD_SERVER_NAME; empty: standalone mode
  std::string ip_config;    // GRAPHD_IP_CONFIG: path of the ip_config file
  // GRAPHD_PART_CONFIG: path of part_config.json; standalone mode opens all partitions in-process.
  std::string part_config;
  // GRAPHD_STATE_DIR: directory for the persistent tensors of standalone mode, which one process at
  // a time can use. Empty: these tensors end with the session.
  std::string state_dir;
  // GRAPHD_JOB_ID, or else an id that torchrun, another launcher of PyTorch, or Slurm's srun
  // determines: "torchrun-<run id>", "torch-<MASTER_ADDR>:<MASTER_PORT>", "slurm-<job>.<step>".
  // Processes with the same id are trainers of one job. Empty: a job of its own, with one trainer.
  std::string job_id;
  // GRAPHD_JOB_SECRET: text that the processes of a job have in common; daemons let nobody join the
  // job without it. `graphctl launch` makes one. Without one, daemons take only processes of the
  // user who attached first. A session without a job id makes both for itself.
  std::string job_secret;
  // GRAPHD_KEYS: the directory with the keys by which daemons and this process know each other over
  // TCP (TLS; see graphctl-keys(1)), or "default" for that of the server's name in the user's
  // configuration. Empty: TCP without TLS, which a daemon with keys refuses.
  std::string keys;
  // GRAPHD_SECRET: in place of keys, the file with the secret that daemons and clients of the
  // server share (graphd(8), --secret), or "default" for that of the server's name. Connections are
  // not encrypted. Empty: no secret, and a daemon with one refuses TCP connections of this process.
  std::string secret_file;
  int rank = 0;              // RANK, or that of srun's task
  int world_size = 1;        // WORLD_SIZE, or the number of srun's tasks
  int local_rank = 0;        // LOCAL_RANK: rank among the trainers of its machine (ip_config line)
  int local_world_size = 1;  // LOCAL_WORLD_SIZE: number of trainers of its machine (ip_config line)
  // GRAPHD_PART_ID: the result of DistGraph::local_partition, which is the partition of the
  // trainer's ip_config line. -1: Initialize chooses one that is mapped, by local rank, or one by
  // rank.
  int part = -1;
  int num_samplers = 0;  // GRAPHD_NUM_SAMPLERS: worker threads per data loader
  // Whether this process works for the trainer of its rank, such as a process of a data loader: it
  // reads and writes in the same job, but takes no part in barriers and synchronous steps. True if
  // GRAPHD_TRAINER, "pid:rank:job id", names another process with this rank and job; the Python
  // package sets it for the children of a trainer.
  bool is_worker = false;
  // GRAPHD_ROLE: host or trainer. On a machine that is none of ip_config's hosts, Initialize works
  // with kTrainer alone; otherwise a wrong address in ip_config would only be noticed as slowness.
  MachineRole role = MachineRole::kHost;
  // GRAPHD_REMOTE_TRAINERS: how many trainers of the job, those with the last ranks, run on
  // machines that serve no partition. NodeSplit and EdgeSplit leave them a part of all partitions.
  int remote_trainers = 0;
  // GRAPHD_ROW_CACHE, such as "2G": bytes for a cache of features' rows that other machines serve;
  // 0: none. The trainers of a user on this machine whose graph has the same data share one cache,
  // of the size that the first of them gives; other graphs or versions have their own. Rows of
  // tensors and embeddings are not cached. Without a cache, too, the threads of this process
  // request a row once that several of them need at the same time.
  uint64_t row_cache = 0;
  Transport transport = Transport::kAuto;    // GRAPHD_TRANSPORT: auto, unix or tcp
  std::chrono::milliseconds timeout{30000};  // GRAPHD_TIMEOUT, in seconds: limit of every call

  // Reads the environment variables named above; those that are not set leave the defaults. Throws
  // Error(kInvalid), which names the variable and its value.
  static Options FromEnvironment();
};

// The membership of a process in a job, with its connections and mappings. Initialize creates it.
// It leaves the job when the last object that uses it is destroyed. Thread-safe.
//
// In a child that was forked from its process, a session and everything made with it can only be
// destroyed: other functions that read or change data throw Error(kInvalid). The child may call
// Initialize.
class Session {
 public:
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Returns the settings that the session was created with.
  const Options& options() const noexcept { return options_; }
  // Returns this trainer's rank in the job.
  int rank() const noexcept { return options_.rank; }
  // Returns the number of trainers of the job.
  int world_size() const noexcept { return options_.world_size; }
  // Returns whether the partitions are opened in-process, without daemons.
  bool is_standalone() const noexcept { return options_.server_name.empty(); }

  // Waits for all trainers of the job. Matches DistGraph.barrier. Throws Error(kUnavailable) if a
  // trainer left the job meanwhile, Error(kDeadline) after the timeout. If that names the ranks
  // that did not come, no trainer has passed, and each may call it again; otherwise the daemon did
  // not answer.
  virtual void Barrier() = 0;

  // Internal: access of graphs and tensors to the partitions.
  virtual const std::shared_ptr<GraphAccess>& access() const noexcept = 0;

 protected:
  explicit Session(Options options) : options_(std::move(options)) {}

 private:
  Options options_;
};

// Connects to the daemons of options.ip_config or, without a server name, opens options.part_config
// in-process. Throws Error(kUnavailable), which names the address that does not answer and how to
// start its daemon, Error(kVersion), Error(kNotFound), Error(kExists) if another process is the
// trainer of this rank, and Error(kInvalid) for one of several trainers without a job id, and on a
// machine that is none of ip_config's hosts, unless options.role is kTrainer.
std::shared_ptr<Session> Initialize(Options options = Options::FromEnvironment());

}  // namespace graphd
