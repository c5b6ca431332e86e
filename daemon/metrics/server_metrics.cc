// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server_metrics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

double Value(uint64_t count) { return static_cast<double>(count); }

// The bounds of the buckets that Prometheus gets, in nanoseconds and in seconds. Each of them is
// also a bound of a bucket of Durations.
constexpr std::array<std::pair<uint64_t, double>, 15> kBounds{{{10'000, 0.00001},
                                                               {30'000, 0.00003},
                                                               {100'000, 0.0001},
                                                               {300'000, 0.0003},
                                                               {1'000'000, 0.001},
                                                               {3'000'000, 0.003},
                                                               {10'000'000, 0.01},
                                                               {30'000'000, 0.03},
                                                               {100'000'000, 0.1},
                                                               {300'000'000, 0.3},
                                                               {1'000'000'000, 1},
                                                               {3'000'000'000, 3},
                                                               {10'000'000'000, 10},
                                                               {30'000'000'000, 30},
                                                               {100'000'000'000, 100}}};
static_assert(std::ranges::all_of(kBounds, [](const auto& bound) {
  return Durations::BoundOf(Durations::BucketOf(bound.first)) == bound.first;
}));

prometheus::ClientMetric::Histogram HistogramOf(const TimeBuckets& times) {
  prometheus::ClientMetric::Histogram out;
  auto next = times.buckets.begin();
  for (const auto& [nanoseconds, seconds] : kBounds) {
    for (; next != times.buckets.end() && next->nanoseconds <= nanoseconds; ++next) {
      out.sample_count += next->count;
    }
    out.bucket.push_back({out.sample_count, seconds});
  }
  for (; next != times.buckets.end(); ++next) out.sample_count += next->count;
  out.bucket.push_back({out.sample_count, std::numeric_limits<double>::infinity()});
  out.sample_sum = times.seconds;
  return out;
}

void AddInfo(const std::string& server_name, const std::string& graph_name, FamilyBuilder& to) {
  to.Gauge("graphd_server_info", "The names of the server and of its graph; always 1.")
      .Sample(1, {{"server_name", server_name}, {"graph_name", graph_name}});
}

void AddGraph(const ServerStatus& status, FamilyBuilder& to) {
  AddInfo(status.server_name, status.graph_name, to);
  to.Gauge("graphd_graph_partitions", "Partitions of the whole graph, on all servers.")
      .Sample(status.num_parts);
  to.Gauge("graphd_partition_nodes", "Nodes that a partition of this server owns.");
  for (const auto& each : status.partitions) {
    to.Sample(static_cast<double>(each.num_nodes), {{"part", StrCat(each.part)}});
  }
  to.Gauge("graphd_partition_edges", "Edges that a partition of this server owns.");
  for (const auto& each : status.partitions) {
    to.Sample(static_cast<double>(each.num_edges), {{"part", StrCat(each.part)}});
  }
  to.Gauge("graphd_partition_bytes",
           "Memory of a partition's structure and features, by the kind of its pages.");
  for (const auto& each : status.partitions) {
    for (const PageBytes& pages : each.page_bytes) {
      to.Sample(Value(pages.bytes), {{"part", StrCat(each.part)}, {"pages", pages.pages}});
    }
  }
  to.Gauge("graphd_partition_index_bytes", "Memory of a partition's derived indexes.");
  for (const auto& each : status.partitions) {
    to.Sample(Value(each.index_bytes), {{"part", StrCat(each.part)}});
  }
}

void AddClients(const ServerNumbers& numbers, FamilyBuilder& to) {
  const ConnectionCounters& connections = numbers.connections;
  to.Gauge("graphd_connections", "Connections of clients that are open.")
      .Sample(Value(connections.open));
  to.Gauge("graphd_connections_limit", "Connections that may be open (--max_connections).")
      .Sample(Value(numbers.max_connections));
  to.Counter("graphd_connections_accepted_total", "Connections that were accepted.")
      .Sample(Value(connections.accepted));
  to.Counter("graphd_connections_refused_total",
             "Connections that were refused because of --max_connections (limit), closed for the "
             "same reason to make room for others (gave_way), or refused because the last file "
             "descriptors are kept for the store (descriptors).")
      .Sample(Value(connections.refused_by_limit), {{"reason", "limit"}})
      .Sample(Value(connections.gave_way), {{"reason", "gave_way"}})
      .Sample(Value(connections.refused_by_descriptors), {{"reason", "descriptors"}});
  to.Gauge("graphd_jobs", "Jobs that are attached.").Sample(Value(numbers.status.jobs.size()));
  uint64_t trainers = 0;
  for (const JobStatus& job : numbers.status.jobs) {
    trainers += static_cast<uint64_t>(
        std::count_if(job.members.begin(), job.members.end(),
                      [](const auto& each) { return each.role == JobRole::kTrainer; }));
  }
  to.Gauge("graphd_trainers", "Trainers of all jobs that are attached.").Sample(Value(trainers));
  to.Gauge("graphd_peer_memory_bytes", "Memory for requests and answers of clients in use.")
      .Sample(Value(numbers.peer_memory));
  to.Gauge("graphd_peer_memory_limit_bytes", "Limit of that memory (--peer_memory).")
      .Sample(Value(numbers.peer_memory_limit));
}

void AddRequests(const ServerNumbers& numbers, FamilyBuilder& to) {
  const RequestCounters& requests = numbers.requests;
  to.Counter("graphd_requests_total", "Requests that have arrived.")
      .Sample(Value(numbers.status.requests));
  to.Counter("graphd_request_errors_total", "Requests that have failed, by the error's code.");
  for (size_t i = 0; i < requests.errors.size(); i++) {
    to.Sample(Value(requests.errors[i]), {{"code", ErrorCodeName(static_cast<ErrorCode>(i))}});
  }
  to.Histogram("graphd_request_duration_seconds",
               "Time from the arrival of a request until its answer is ready or it is cancelled.");
  for (const OperationTimes& each : numbers.status.operations) {
    to.Sample(HistogramOf(each.durations), {{"kind", each.operation}});
  }
  to.Histogram("graphd_request_queue_seconds",
               "The part of that time in which a request waited for threads of a pool or, as a "
               "change of rows, for its turn among those of all jobs.");
  for (const OperationTimes& each : numbers.status.operations) {
    to.Sample(HistogramOf(each.queued), {{"kind", each.operation}});
  }
  to.Counter("graphd_rows_served_total", "Rows of features and tensors that were sent.")
      .Sample(Value(numbers.status.rows_served));
  to.Counter("graphd_sampled_edges_total", "Edges that were sampled for remote trainers.")
      .Sample(Value(numbers.status.edges_sampled));
  to.Counter("graphd_sent_bytes_total", "Bytes of arrays in answers.")
      .Sample(Value(numbers.status.bytes_sent));
  const MappedReads& mapped = numbers.status.mapped_reads;
  to.Counter("graphd_mapped_calls_total",
             "Calls of trainers on this machine that read mapped memory instead of sending a "
             "request; trainers tell once a second.")
      .Sample(Value(mapped.calls));
  to.Counter("graphd_mapped_rows_total", "Rows of features and tensors that they read there.")
      .Sample(Value(mapped.rows));
  to.Counter("graphd_mapped_bytes_total", "Bytes of these rows.").Sample(Value(mapped.bytes));
  to.Counter("graphd_mapped_sampled_edges_total", "Edges that they sampled there.")
      .Sample(Value(mapped.edges));
  to.Gauge("graphd_pool_threads", "Threads of a pool.");
  for (const auto& pool : numbers.pools) to.Sample(Value(pool.threads), {{"pool", pool.name}});
  to.Gauge("graphd_pool_waiting_requests", "Requests that wait for a thread of a pool.");
  for (const auto& pool : numbers.pools) to.Sample(Value(pool.waiting), {{"pool", pool.name}});
}

void AddRoom(const char* directory, const std::optional<FileSystemRoom>& room, bool free,
             FamilyBuilder& to) {
  if (room) to.Sample(Value(free ? room->free : room->size), {{"directory", directory}});
}

void AddStore(const ServerNumbers& numbers, FamilyBuilder& to) {
  const auto& tensors = numbers.status.tensors;
  to.Gauge("graphd_tensors", "Shares of tensors and embeddings that this server keeps.")
      .Sample(Value(tensors.size()));
  to.Gauge("graphd_tensors_in_trouble", "Those that can't be read or changed in full.")
      .Sample(Value(
          static_cast<uint64_t>(std::count_if(tensors.begin(), tensors.end(), [](const auto& each) {
            return !each.trouble.empty();
          }))));
  to.Counter("graphd_checkpoint_shares_total",
             "This server's shares of checkpoints that were written.")
      .Sample(Value(numbers.requests.checkpoints));
  if (!numbers.status.store) return;
  const StoreStatus& store = *numbers.status.store;
  to.Gauge("graphd_store_trouble",
           "1 while changes of tensors wait or fail, or rows can't be written back; 0 otherwise.")
      .Sample(store.trouble.empty() ? 0 : 1);
  to.Gauge("graphd_store_damages", "Damages that were found when the server started.")
      .Sample(Value(store.damage.size()));
  to.Gauge("graphd_tensor_resident_bytes", "Memory of tensors and of optimisers' state.")
      .Sample(Value(store.resident_bytes));
  if (store.memory_bytes > 0) {
    to.Gauge("graphd_tensor_memory_limit_bytes", "Limit of that memory (--embedding_memory).")
        .Sample(Value(store.memory_bytes));
  }
  to.Gauge("graphd_tensor_disk_bytes", "Pages of tensors on the disk.")
      .Sample(Value(store.page_bytes));
  to.Gauge("graphd_push_log_bytes", "The log of changes that are not written back.")
      .Sample(Value(store.log_bytes));
  to.Counter("graphd_pushes_total", "Changes of tensors since the store was created.")
      .Sample(Value(store.pushes));
  to.Gauge("graphd_write_back_changed_bytes",
           "Changed bytes that the present or last round of write-back found.")
      .Sample(Value(store.changed_bytes));
  to.Gauge("graphd_write_back_written_bytes", "Those of them that it has written.")
      .Sample(Value(store.written_bytes));
  to.Gauge("graphd_file_system_size_bytes",
           "Size of the file system of the tensors' memory (memory_dir) or state (state_dir).");
  AddRoom("memory_dir", numbers.memory_dir, false, to);
  AddRoom("state_dir", numbers.state_dir, false, to);
  to.Gauge("graphd_file_system_free_bytes", "Room that is left on that file system.");
  AddRoom("memory_dir", numbers.memory_dir, true, to);
  AddRoom("state_dir", numbers.state_dir, true, to);
}

}  // namespace

void AddStateMetric(const std::string& state, FamilyBuilder& to) {
  to.Gauge("graphd_state", "1 for the state that the server is in, 0 for the others.");
  for (const char* each : {"loading", "ready", "draining"}) {
    to.Sample(state == each ? 1 : 0, {{"state", each}});
  }
}

void AddLoading(const std::string& server_name, std::pair<uint64_t, uint64_t> bytes,
                FamilyBuilder& to) {
  AddInfo(server_name, "", to);
  to.Gauge("graphd_loading_bytes",
           "Bytes of the partitions that are in memory; only while the server loads them.")
      .Sample(Value(bytes.first));
  to.Gauge("graphd_loading_total_bytes",
           "Bytes that the partitions will take; 0 while this is not known.")
      .Sample(Value(bytes.second));
}

void AddServerMetrics(const ServerNumbers& numbers, FamilyBuilder& to) {
  AddStateMetric(numbers.status.state, to);
  to.Gauge("graphd_drained", "1 while the server takes no new jobs (graphctl server drain).")
      .Sample(numbers.status.drained ? 1 : 0);
  AddGraph(numbers.status, to);
  AddClients(numbers, to);
  AddRequests(numbers, to);
  AddStore(numbers, to);
}

}  // namespace graphd
