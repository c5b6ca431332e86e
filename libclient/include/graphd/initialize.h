// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "graphd/error.h"
#include "graphd/export.h"

// Where a trainer begins. `graphctl launch` sets the environment from which
// Options::FromEnvironment reads; then
//
//   auto session = graphd::Initialize();
//   graphd::DistGraph graph(session, "ogb-product");
//
// Matches dgl.distributed.initialize, with no collective: it connects to the daemons (to those of
// this machine through their Unix sockets, mapping their memory), agrees on the protocol, and
// returns.

namespace graphd {
class GraphAccess;  // Internal: routing to partitions.
}  // namespace graphd

namespace GRAPHD_EXPORT graphd {

// How partitions are reached.
enum class Transport {
  kAuto,  // partitions of daemons on this machine through mapped memory, others over TCP
  kUnix,  // daemons on this machine by RPC over their Unix sockets (measurements, tests)
  kTcp,   // everything by RPC over TCP (measurements, tests)
};

struct Options {
  std::string server_name;  // GRAPHD_SERVER_NAME; empty: standalone mode
  std::string ip_config;    // GRAPHD_IP_CONFIG: path of the ip_config file
  std::string part_config;  // GRAPHD_PART_CONFIG: standalone mode opens every partition in-process
  // GRAPHD_STATE_DIR: standalone mode keeps persistent tensors there, for one process at a time;
  // empty: they end with the session.
  std::string state_dir;
  std::string job_id;        // GRAPHD_JOB_ID
  int rank = 0;              // RANK
  int world_size = 1;        // WORLD_SIZE
  int local_rank = 0;        // LOCAL_RANK: among the trainers of its ip_config line
  int local_world_size = 1;  // LOCAL_WORLD_SIZE: trainers of its ip_config line
  int part = 0;              // GRAPHD_PART_ID: the partition of this trainer's ip_config line
  int num_samplers = 0;      // GRAPHD_NUM_SAMPLERS: sampler threads per data loader
  Transport transport = Transport::kAuto;    // GRAPHD_TRANSPORT: auto, unix or tcp
  std::chrono::milliseconds timeout{30000};  // GRAPHD_TIMEOUT in seconds: of every call

  // Reads the variables named above. Throws Error(kInvalid) naming the variable and its value.
  static Options FromEnvironment();
};

// A process's place in its job: its connections and mappings. Made by Initialize; ends, leaving the
// job, when the last object that uses it has gone. Thread-safe.
class Session {
 public:
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Options& options() const noexcept { return options_; }
  int rank() const noexcept { return options_.rank; }
  int world_size() const noexcept { return options_.world_size; }
  bool is_standalone() const noexcept { return options_.server_name.empty(); }

  // Waits for every trainer of the job. Matches DistGraph.barrier. Throws Error(kUnavailable) if a
  // trainer left the job meanwhile, Error(kDeadline) after the timeout.
  virtual void Barrier() = 0;

  // Internal: how graphs and tensors reach the partitions.
  virtual const std::shared_ptr<GraphAccess>& access() const noexcept = 0;

 protected:
  explicit Session(Options options) : options_(std::move(options)) {}

 private:
  Options options_;
};

// Connects to the daemons of options.ip_config, or, with no server name, opens options.part_config
// in-process. Throws Error(kUnavailable) naming the address that does not answer and how to start
// it, Error(kVersion), Error(kNotFound).
std::shared_ptr<Session> Initialize(Options options = Options::FromEnvironment());

}  // namespace graphd
