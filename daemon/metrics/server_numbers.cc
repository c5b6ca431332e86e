// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server_numbers.h"

#include <sys/statvfs.h>

#include <string>

namespace graphd {
namespace {

std::optional<FileSystemRoom> RoomOf(const std::string& directory) {
  struct statvfs found {};
  if (directory.empty() || ::statvfs(directory.c_str(), &found) != 0) return std::nullopt;
  return FileSystemRoom{found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize};
}

}  // namespace

ServerNumbers NumbersOf(const ServiceContext& context, const DaemonInfo& info,
                        const ConnectionCounters& connections, uint64_t max_connections) {
  ServerNumbers numbers{StatusOf(context, info), context.counters, connections};
  numbers.max_connections = max_connections;
  numbers.peer_memory = context.memory.used();
  numbers.peer_memory_limit = context.memory.limit();
  const WorkerPools& pools = context.pools;
  const auto add = [&numbers](const char* name, const ComputePool& pool) {
    if (pool.num_threads() == 0) return;
    numbers.pools.push_back({name, pool.num_threads(), pool.num_waiting()});
  };
  add("compute", pools.compute);
  add("row_reads", pools.row_reads);
  add("row_changes", pools.row_changes);
  add("builds", pools.builds);
  add("records", pools.records);
  add("saves", pools.saves);
  add("status", pools.status);
  if (const auto& store = numbers.status.store) {
    numbers.memory_dir = RoomOf(store->memory);
    numbers.state_dir = RoomOf(store->directory);
  }
  return numbers;
}

}  // namespace graphd
