// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "graphd/schema.h"

namespace graphd {

// What graphd is told on its command line or in its configuration file; see graphd(8).
struct DaemonOptions {
  std::string server_name;
  std::string part_config;
  std::vector<PartId> parts;
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  std::vector<std::string> indexes;  // to make before serving: "KIND:EDGE_TYPE[/FEATURE]"
  std::string runtime_dir;
  std::string state_dir;  // tensors lie in <state_dir>/<server_name>/part-<parts>
  std::string durability = "process";
  std::string memory_dir;         // a tmpfs for memory that outlasts the daemon; empty: choose
  uint64_t embedding_memory = 0;  // bytes; 0: as much as there is
  double write_back_seconds = 0;  // from one round of write-back to the next; 0: the store's choice
  std::string log_file;
  LogLevel log_level = LogLevel::kInfo;
  size_t compute_threads = 1;
  size_t data_threads = 1;
  size_t max_connections = 4096;
  bool insecure = false;
  bool end_with_jobs = false;
};

// Where this server keeps its tensors.
std::string StoreDirectory(const DaemonOptions& options);
// Where all servers of its name keep their checkpoints, and what it calls its own there.
std::string CheckpointsDirectory(const DaemonOptions& options);
std::string StoreName(const DaemonOptions& options);

// Parses and checks. Prints and returns none for --help and --version. Throws Error(kInvalid) with
// the option, its value and what is right.
std::optional<DaemonOptions> ParseOptions(int argc, char** argv);

}  // namespace graphd
