// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "daemon/access/access_rules.h"
#include "graphd/schema.h"

namespace graphd {

// The options of graphd, from its command line or its configuration file; see graphd(8).
struct DaemonOptions {
  std::string config;  // path of the configuration file; empty: none was given
  std::string server_name;
  std::string part_config;
  std::vector<PartId> parts;
  std::string address;               // host of the TCP listener; empty: the Unix socket only
  uint16_t port = 0;                 // port of the TCP listener; also names the Unix socket
  std::string keys;                  // directory of the keys for TLS; empty: TCP without TLS
  std::string secret;                // file of the shared secret; empty: none
  std::vector<std::string> indexes;  // built before serving: "KIND:EDGE_TYPE[/FEATURE]"
  std::string runtime_dir;
  std::string state_dir;  // tensors are stored in <state_dir>/<server_name>/part-<parts>
  std::string durability = "process";
  std::string memory_dir;         // tmpfs for memory that survives the daemon; empty: the default
  uint64_t embedding_memory = 0;  // bytes; 0: no limit
  double write_back_seconds = 0;  // period of write-back rounds; 0: the store chooses
  std::string log_file;
  LogLevel log_level = LogLevel::kInfo;
  size_t compute_threads = 1;
  size_t data_threads = 1;
  size_t max_connections = 4096;
  unsigned write_timeout = 600;  // seconds
  unsigned hang_timeout = 120;   // seconds
  uint64_t peer_memory = 0;      // bytes; 0: PeerMemory::DefaultLimit
  uint64_t index_memory = 0;     // bytes; 0: no limit but the machine's
  AccessRules::Options access;   // its `insecure` also allows addresses beyond loopback
  std::string metrics_address;   // host of the metrics' endpoint; empty: there is none
  uint16_t metrics_port = 0;
  bool metrics_insecure = false;           // allows that endpoint beyond loopback
  std::vector<std::string> metrics_peers;  // host:port of other servers' metrics, for the page
  bool end_with_jobs = false;
  bool check_config = false;

  // Returns whether the TCP listener may accept clients from other machines: only if clients prove
  // who they are (by keys or a secret), or if `insecure` waives that.
  bool allows_beyond_loopback() const {
    return access.insecure || !keys.empty() || !secret.empty();
  }
};

// Returns the directory of this server's tensors.
std::string StoreDirectory(const DaemonOptions& options);
// Returns the file with the credentials of this server's jobs.
std::string JobsPath(const DaemonOptions& options);
// Returns the file with the records of this server's jobs (JobRecordFile).
std::string JobRecordsPath(const DaemonOptions& options);
// Returns the file with the note about the last switch of the graph (SwitchRecord).
std::string SwitchPath(const DaemonOptions& options);
// Returns the directory of the checkpoints of all daemons with this server name.
std::string CheckpointsDirectory(const DaemonOptions& options);
// Returns the name of this daemon's own directories, those of its tensors and of its checkpoints.
// It consists of the daemon's partitions, as in "part-0-1".
std::string StoreName(const DaemonOptions& options);

// Parses and checks the options. For --help and --version, prints the text and returns none. Throws
// Error(kInvalid) with the option, its value and the expected form.
std::optional<DaemonOptions> ParseOptions(int argc, char** argv);

}  // namespace graphd
