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
  kHost,     // a host of ip_config, which also runs the daemon of its partition
  kTrainer,  // any machine; if it serves no partition, it reads everything over TCP
};

// The settings of a session, with the environment variable of each.
struct Options {
  std::string server_name;  // GRAPHD_SERVER_NAME; empty: standalone mode
  std::string ip_config;    // GRAPHD_IP_CONFIG: path of the ip_config file
  // GRAPHD_PART_CONFIG: path of part_config.json; standalone mode opens all partitions in-process.
  std::string part_config;
  // GRAPHD_STATE_DIR: directory for the persistent tensors of standalone mode. Only one process at
  // a time can use the directory. Empty: these tensors end with the session.
  std::string state_dir;
  // GRAPHD_JOB_ID, or else an id that torchrun, another launcher of PyTorch, or Slurm's srun
  // determines: "torchrun-<run id>", "torch-<MASTER_ADDR>:<MASTER_PORT>", "slurm-<job>.<step>".
  // Processes with the same id are trainers of one job. Empty: a job of its own, with one trainer.
  std::string job_id;
  // GRAPHD_JOB_SECRET: text that the processes of a job have in common; daemons let nobody join the
  // job without it. `graphctl launch` makes such a text. If a job has no secret, daemons accept
  // only processes of the user whose process joined the job first. A session without a job id makes
  // a job id and a secret for itself.
  std::string job_secret;
  // GRAPHD_KEYS: the directory with the keys with which daemons and this process authenticate each
  // other over TCP (TLS; see graphctl-keys(1)), or "default" for the directory of the server's name
  // in the user's configuration. Empty: TCP without TLS, which a daemon with keys refuses.
  std::string keys;
  // GRAPHD_SECRET: in place of keys, the file with the secret that daemons and clients of the
  // server share (graphd(8), --secret), or "default" for the file of the server's name. Connections
  // are not encrypted. Empty: no secret; a daemon that has a secret then refuses TCP connections of
  // this process.
  std::string secret_file;
  int rank = 0;              // RANK, or the rank of srun's task
  int world_size = 1;        // WORLD_SIZE, or the number of srun's tasks
  int local_rank = 0;        // LOCAL_RANK: rank among the trainers of its machine (ip_config line)
  int local_world_size = 1;  // LOCAL_WORLD_SIZE: number of trainers of its machine (ip_config line)
  // GRAPHD_PART_ID: the result of DistGraph::local_partition, which is the partition of the
  // trainer's ip_config line. -1: Initialize chooses, by local rank, one of the partitions that
  // this process reads through mapped memory or, if there are none, one of all partitions by rank.
  int part = -1;
  int num_samplers = 0;  // GRAPHD_NUM_SAMPLERS: worker threads per data loader
  // Whether this process is not a trainer, but works for the trainer of its rank, as a worker
  // process of a data loader does. Such a process reads and writes in the same job, but takes no
  // part in barriers and synchronous steps. True if GRAPHD_TRAINER, "pid:rank:job id", names
  // another process with this rank and job; the Python package sets this variable for the children
  // of a trainer.
  bool is_worker = false;
  // GRAPHD_ROLE: host or trainer. On a machine that is not a host of ip_config, Initialize succeeds
  // only with kTrainer. If it always succeeded, a wrong address in ip_config would show only as
  // slowness.
  MachineRole role = MachineRole::kHost;
  // GRAPHD_REMOTE_TRAINERS: how many trainers of the job run on machines that serve no partition.
  // They have the last ranks. NodeSplit and EdgeSplit give them some of the nodes or edges of all
  // partitions.
  int remote_trainers = 0;
  // GRAPHD_ROW_CACHE, such as "2G": bytes for a cache of feature rows that other machines serve; 0:
  // no cache. The trainers of one user on this machine whose graph has the same data share one
  // cache, and the first of them decides its size; other graphs, or other versions of the graph,
  // have caches of their own. Rows of tensors and embeddings are not cached. Even without a cache,
  // a row that several threads of this process need at the same time is requested only once.
  uint64_t row_cache = 0;
  Transport transport = Transport::kAuto;    // GRAPHD_TRANSPORT: auto, unix or tcp
  std::chrono::milliseconds timeout{30000};  // GRAPHD_TIMEOUT, in seconds: limit of every call

  // Reads the environment variables named above; those that are not set leave the defaults. Throws
  // Error(kInvalid), which names the variable and its value.
  static Options FromEnvironment();
};

// The membership of a process in a job, with its connections and mappings. Initialize creates it.
// The process leaves the job when the last object that uses the session is destroyed. Thread-safe.
//
// In a child process that was forked from the session's process, a session and everything made with
// it can only be destroyed: other functions that read or change data throw Error(kInvalid). The
// child may call Initialize.
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
  // trainer left the job meanwhile, and Error(kDeadline) after the timeout. If the message of
  // Error(kDeadline) names the ranks that did not come, no trainer has passed the barrier, and each
  // may call this function again; otherwise the daemon did not answer.
  virtual void Barrier() = 0;

  // Internal: the object through which graphs and tensors access the partitions.
  virtual const std::shared_ptr<GraphAccess>& access() const noexcept = 0;

 protected:
  explicit Session(Options options) : options_(std::move(options)) {}

 private:
  Options options_;
};

// Connects to the daemons of options.ip_config or, without a server name, opens options.part_config
// in-process. Throws Error(kUnavailable), which names the address that does not answer and how to
// start its daemon, Error(kVersion), Error(kNotFound), Error(kExists) if another process is the
// trainer of this rank, and Error(kInvalid) if the job has several trainers but no job id, or if
// this machine is not a host of ip_config and options.role is not kTrainer.
std::shared_ptr<Session> Initialize(Options options = Options::FromEnvironment());

}  // namespace graphd
