// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/requests/request_counters.h"
#include "daemon/serving/connection_counters.h"
#include "daemon/serving/server_status.h"

namespace graphd {

// The size and the free space of a file system, in bytes.
struct FileSystemRoom {
  uint64_t size = 0, free = 0;
};

// The numbers from which the metrics of a daemon are made: its status, and more. The references are
// to the daemon's own counters, which outlive this object.
struct ServerNumbers {
  ServerStatus status;
  const RequestCounters& requests;
  const ConnectionCounters& connections;
  uint64_t max_connections = 0;
  uint64_t peer_memory = 0, peer_memory_limit = 0;  // bytes
  struct Pool {
    const char* name;
    size_t threads, waiting;
  };
  std::vector<Pool> pools = {};
  // The file systems that have the memory and the state of tensors; none if there are no tensors,
  // or if the system does not tell.
  std::optional<FileSystemRoom> memory_dir = {}, state_dir = {};
};

// Returns the present numbers of a daemon. Any thread may call it.
ServerNumbers NumbersOf(const ServiceContext& context, const DaemonInfo& info,
                        const ConnectionCounters& connections, uint64_t max_connections);

}  // namespace graphd
