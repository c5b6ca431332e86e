// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/server_status.h"

#include <unistd.h>

#include <fstream>

#include "wire/graphd.capnp.h"

namespace graphd {

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

ServerStatus StatusOf(const ServiceContext& context, const DaemonInfo& info) {
  ServerStatus status;
  status.version = GRAPHD_VERSION;
  status.protocol = wire::PROTOCOL_VERSION;
  status.server_name = info.server_name;
  const auto versions = context.graphs.All();
  const GraphVersion& current = *versions.front().version;
  status.graph_name = current.graph->meta().graph_name;
  status.part_config = current.part_config;
  status.state = context.jobs.is_closed() ? "draining" : "ready";
  status.pid = ::getpid();
  status.uptime_seconds = SecondsSince(info.started);
  status.listening = info.listening;
  status.insecure = info.insecure;
  status.ends_with_jobs = info.ends_with_jobs;
  status.num_parts = current.graph->meta().book.num_partitions();
  status.partitions = current.graph->status();
  for (const auto& [version, is_current, jobs] : versions) {
    status.graphs.push_back({version->id, version->part_config, version->fingerprint,
                             version->graph->bytes(), static_cast<uint32_t>(jobs)});
  }
  status.jobs = context.jobs.Jobs();
  for (JobStatus& job : status.jobs) {
    job.fingerprint = context.graphs.Of(job.job_id)->fingerprint;
    job.memory_bytes = context.memory.UsedBy(job.job_id);
  }
  status.requests = context.counters.requests;
  status.rows_served = context.counters.rows_served;
  status.edges_sampled = context.counters.edges_sampled;
  status.bytes_sent = context.counters.bytes_sent;
  status.rows_cached = context.counters.rows_cached;
  status.rows_not_cached = context.counters.rows_not_cached;
  status.mapped_reads = {context.counters.mapped_calls, context.counters.mapped_rows,
                         context.counters.mapped_bytes, context.counters.mapped_edges};
  status.rss_bytes = ResidentBytes();
  status.tensors = context.tensors.ListAll();
  status.store = context.tensors.status();
  status.records = context.board.Records();
  status.drained = context.jobs.drained();
  status.operations = context.counters.Operations();
  return status;
}

}  // namespace graphd
