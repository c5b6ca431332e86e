// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// A partition that a host is to serve.
struct PartitionFacts {
  PartId part = 0;
  uint64_t bytes = 0;  // memory that it needs
  std::string error;   // the reason why it can't be loaded; empty: its files are complete
};

// The findings of `graphctl supervise` about its host, for `graphctl doctor`. A plain value; texts
// of errors are empty where there is no error.
struct HostFacts {
  std::string kernel;  // its release, such as "6.1.0-18-amd64"
  int cores = 0;
  uint64_t memory_total = 0, memory_available = 0;
  uint64_t descriptors = 0;  // hard limit of a process
  std::string shmem_pages;   // the kernel's setting for huge pages of shared memory: "advise"
  double clock = 0;          // seconds since 1970

  std::string memory_dir;  // the tmpfs for tensors' memory
  uint64_t memory_dir_free = 0;
  std::string memory_dir_error;
  std::string state_dir;  // the directory of tensors
  uint64_t state_dir_free = 0;
  std::string state_dir_error;

  std::string graphd, graphd_version, graphd_error;
  bool is_running = false;    // the server listens already
  std::string running_graph;  // the graph that it serves
  int running_parts = 0;      // the partitions of that graph
  bool is_loopback = false;   // the daemon's address is a loopback address on this host
  std::string port_error;     // the daemon could not listen
  std::string keys_error;     // the keys or the secret can't be used

  std::string part_config;  // path; empty: none was given
  std::string part_config_error;
  std::string graph;           // name
  std::string graph_checksum;  // covers all that the part config says about the graph
  int num_parts = 0;
  std::vector<PartitionFacts> partitions;

  std::vector<std::string> unreachable;  // "host:port: reason" for other hosts
};

// Finds out what a daemon of this spec would meet on this host. `peers`: the addresses, host:port,
// of the other daemons. Takes a few seconds at most, even if peers do not answer.
HostFacts CollectHostFacts(const ServerSpec& server, const std::vector<std::string>& peers);

// Finds out what trainers would meet on this host, which serves no partition. Members that concern
// daemons keep their initial values. `peers`: the addresses of all daemons.
HostFacts CollectTrainerFacts(const ServerSpec& server, const std::vector<std::string>& peers);

void to_json(nlohmann::json& json, const HostFacts& facts);
// Throws nlohmann::json::exception for JSON that to_json has not written.
void from_json(const nlohmann::json& json, HostFacts& facts);

}  // namespace graphd::ctl
