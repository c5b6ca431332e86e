// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graphd/schema.h"

// Talking to one daemon about itself: its status, its jobs, its end. What graphctl stands on.
// Blocking; every call ends within the timeout given at Connect, with Error(kDeadline) at the
// latest. Not thread-safe, and at most one ControlClient may live per thread (it owns the thread's
// event loop). A ControlClient that joined a job is a member until it is destroyed or its process
// ends, whichever way.

namespace graphd {

// What a process is in its job.
enum class JobRole { kTrainer, kLauncher };

// Says who a client is when it attaches.
struct JobMember {
  std::string job_id;  // names the job on all its machines; empty: a job of its own
  JobRole role = JobRole::kTrainer;
  int rank = 0;         // trainers: 0 .. world_size-1
  int world_size = 1;   // trainers of the job on all machines
  std::string command;  // shown by `graphctl ps`
};

struct MemberStatus {
  JobRole role;
  int rank;
  int64_t pid;       // as the kernel says; 0 for TCP connections
  std::string peer;  // "unix" or the address
};

struct JobStatus {
  std::string job_id;
  std::string command;
  int world_size;
  double seconds;  // since the first member attached
  std::vector<MemberStatus> members;
};

struct PartitionStatus {
  PartId part;
  int64_t num_nodes, num_edges;  // owned
  uint64_t bytes;
  std::string pages;  // "2 MiB transparent", ...
};

struct ServerStatus {
  std::string version;  // of the daemon, "0.1.0"
  uint32_t protocol;
  std::string server_name, graph_name, part_config;
  std::string state;  // "ready" or "draining"
  int64_t pid;
  double uptime_seconds;
  std::vector<std::string> listening;  // addresses and the socket's path
  bool insecure;
  bool ends_with_jobs;  // started by a launch without --keep_alive
  PartId num_parts;     // of the whole graph
  std::vector<PartitionStatus> partitions;
  std::vector<JobStatus> jobs;
  uint64_t requests, rows_served, edges_sampled, bytes_sent;
  uint64_t rss_bytes;
};

class ControlClient {
 public:
  // Throws Error(kUnavailable) if nothing answers there, Error(kVersion) if it speaks another
  // protocol.
  static std::unique_ptr<ControlClient> ConnectUnix(const std::string& socket_path,
                                                    std::chrono::milliseconds timeout);
  static std::unique_ptr<ControlClient> ConnectTcp(const std::string& address, uint16_t port,
                                                   std::chrono::milliseconds timeout);
  ~ControlClient();

  ServerStatus Status();
  // Registers this process as a member of a job; it is one until this object dies.
  void JoinJob(const JobMember& member);
  // Asks the daemon to end: it stops accepting, ends its connections, and exits 0. Only over the
  // Unix socket (Error(kDenied) otherwise). Throws Error(kExists) if jobs are attached and `force`
  // is false.
  void Shutdown(bool force);

 private:
  struct Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphd
