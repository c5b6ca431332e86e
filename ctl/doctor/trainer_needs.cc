// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/trainer_needs.h"

#include <algorithm>

#include "base/strings.h"
#include "graphd/error.h"
#include "wire/memory/buffer_pool.h"
#include "wire/memory/push_memory.h"

namespace graphd::ctl {
namespace {

// A trainer has one pool for messages, and one for rows that it hands out as tensors.
constexpr uint64_t kIdleBytes = 2 * BufferPool::kMaxIdleBytes;

// Adds the memory that libgraphclient takes for the trainers of this host.
void AddMemory(const TrainersPlan& plan, const PartConfig& config, HostNeeds& host) {
  if (host.trainers == 0) return;
  const auto trainers = static_cast<uint64_t>(host.trainers);
  const auto add = [&host](const char* name, uint64_t bytes) {
    if (bytes == 0) return;
    host.trainer_items.push_back({name, "", {}, bytes});
    host.trainer_bytes += bytes;
  };
  const auto parts = static_cast<size_t>(config.meta->book.num_partitions());
  if (host.partitions.size() < parts) add("row cache", plan.row_cache);
  add("buffers kept for reuse, at most", trainers * kIdleBytes);
  if (plan.has_tensors) {
    add("pushes to servers here, at most", trainers * host.daemons * PushMemory::kBytes);
  }
  add("partition books with an owner per id", trainers * BookBytes(config.meta->book));
}

HostNeeds& FindHost(std::vector<HostNeeds>& hosts, const std::string& address) {
  return *std::ranges::find(hosts, address, &HostNeeds::address);
}

}  // namespace

void AddTrainers(const TrainersPlan& plan, const PartConfig& config,
                 const std::vector<HostLine>& lines, std::vector<HostNeeds>& hosts) {
  if (lines.empty()) {
    for (HostNeeds& host : hosts) host.trainers = plan.num_trainers;
  }
  for (const HostLine& line : lines) {
    FindHost(hosts, line.address).trainers += line.num_trainers.value_or(plan.num_trainers);
  }
  for (const TrainerHost& each : plan.hosts) {
    if (std::ranges::find(lines, each.address, &HostLine::address) != lines.end()) {
      Throw(ErrorCode::kInvalid, each.where, ": '", each.address, "' is a host of ip_config ",
            "already; name it once, and write the number of its trainers into the last column ",
            "there");
    }
    HostNeeds& host = hosts.emplace_back();
    host.address = each.address;
    host.trainers = each.num_trainers.value_or(std::max(1, plan.num_trainers));
  }
  for (HostNeeds& host : hosts) AddMemory(plan, config, host);
}

}  // namespace graphd::ctl
