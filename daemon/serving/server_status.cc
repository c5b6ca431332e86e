// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/server_status.h"

#include <unistd.h>

#include <fstream>

#include "wire/graphd.capnp.h"

namespace graphd {
namespace {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

ServerStatus StatusOf(const ServiceContext& context, const DaemonInfo& info) {
  ServerStatus status;
  status.version = GRAPHD_VERSION;
  status.protocol = wire::PROTOCOL_VERSION;
  status.server_name = info.server_name;
  status.graph_name = context.graph.meta().graph_name;
  status.part_config = info.part_config;
  status.state = context.jobs.is_closed() ? "draining" : "ready";
  status.pid = ::getpid();
  status.uptime_seconds = SecondsSince(info.started);
  status.listening = info.listening;
  status.insecure = info.insecure;
  status.ends_with_jobs = info.ends_with_jobs;
  status.num_parts = context.graph.meta().book.num_partitions();
  status.partitions = context.graph.status();
  status.jobs = context.jobs.Jobs();
  status.requests = context.counters.requests;
  status.rows_served = context.counters.rows_served;
  status.edges_sampled = context.counters.edges_sampled;
  status.bytes_sent = context.counters.bytes_sent;
  status.rows_cached = context.counters.rows_cached;
  status.rows_not_cached = context.counters.rows_not_cached;
  status.rss_bytes = ResidentBytes();
  status.tensors = context.tensors.ListAll();
  status.store = context.tensors.status();
  status.records = context.board.Records();
  status.drained = context.jobs.drained();
  return status;
}

}  // namespace graphd
