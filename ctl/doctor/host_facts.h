// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// A partition that a host will serve.
struct PartitionFacts {
  PartId part = 0;
  uint64_t bytes = 0;  // the memory that the partition needs
  std::string error;   // the reason why it can't be loaded; empty: its files are complete
};

// The facts that `graphctl supervise` finds out about its host, for `graphctl doctor`. A plain
// value. The text of an error is empty if there is no error.
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
  std::string port_error;     // the reason why the daemon could not listen
  std::string keys_error;     // the reason why the keys or the secret can't be used

  std::string part_config;  // path; empty: none was given
  std::string part_config_error;
  std::string graph;           // name
  std::string graph_checksum;  // covers all that the part config says about the graph
  int num_parts = 0;
  std::vector<PartitionFacts> partitions;

  std::vector<std::string> unreachable;  // the daemons that can't be reached: "host:port: reason"
};

// Collects the facts about this host that matter to a daemon started with this spec. `peers`: the
// addresses of the other daemons, each as "host:port". Takes a few seconds at most, even if peers
// do not answer.
HostFacts CollectHostFacts(const ServerSpec& server, const std::vector<std::string>& peers);

// Collects the facts that matter to trainers on this host, which serves no partition. Members that
// only concern daemons keep their initial values. `peers`: the addresses of all daemons.
HostFacts CollectTrainerFacts(const ServerSpec& server, const std::vector<std::string>& peers);

void to_json(nlohmann::json& json, const HostFacts& facts);
// Throws nlohmann::json::exception for JSON that to_json has not written.
void from_json(const nlohmann::json& json, HostFacts& facts);

}  // namespace graphd::ctl
