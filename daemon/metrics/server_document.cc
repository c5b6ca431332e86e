// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server_document.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <vector>

#include "base/host_name.h"
#include "base/strings.h"
#include "graph/id_json.h"

namespace graphd {
namespace {

using nlohmann::json;

// Returns a random text that identifies this process.
const std::string& ProcessId() {
  static const std::string id = [] {
    std::random_device random;
    return StrCat(random(), "-", random(), "-", random());
  }();
  return id;
}

json NewDocument(const std::string& server_name, const std::string& state) {
  return {{"id", ProcessId()},
          {"host", HostName()},
          {"server_name", server_name},
          {"version", GRAPHD_VERSION},
          {"state", state}};
}

std::string TextOf(const json& document) {
  // A client chooses the id of its job, which is UTF-8 (JobRegistry::CheckSizes).
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns the host of a member: its address without the port, and without the remark that may
// follow, as in "10.0.0.1:45162 (shared secret)". Members at the Unix socket have no address; their
// host is this one.
std::string HostOf(const MemberStatus& member) {
  const std::string address = member.peer.substr(0, member.peer.find(' '));
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? HostName() : address.substr(0, colon);
}

// Returns the trainers of a job by host, most of them first: [[host, number], ...].
json HostsOf(const JobStatus& job) {
  std::map<std::string, uint64_t> trainers;
  for (const MemberStatus& member : job.members) {
    if (member.role == JobRole::kTrainer) trainers[HostOf(member)]++;
  }
  std::vector<std::pair<std::string, uint64_t>> hosts(trainers.begin(), trainers.end());
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (hosts.size() > kMostListedHosts) hosts.resize(kMostListedHosts);
  return hosts;
}

uint64_t TrainersOf(const JobStatus& job) {
  return static_cast<uint64_t>(
      std::count_if(job.members.begin(), job.members.end(),
                    [](const auto& member) { return member.role == JobRole::kTrainer; }));
}

// Returns the jobs, without graphctl's own connections.
std::vector<const JobStatus*> ShownJobs(const ServerStatus& status) {
  std::vector<const JobStatus*> jobs;
  for (const JobStatus& job : status.jobs) {
    if (!job.job_id.starts_with(kToolJobPrefix)) jobs.push_back(&job);
  }
  return jobs;
}

json JobsOf(const ServerStatus& status, std::vector<const JobStatus*> jobs) {
  std::map<std::string, uint64_t> tensor_bytes;
  for (const TensorShare& share : status.tensors) {
    tensor_bytes[share.info.job_id] += share.resident_bytes;
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto* a, const auto* b) { return a->seconds > b->seconds; });
  if (jobs.size() > kMostListedJobs) jobs.resize(kMostListedJobs);
  json listed = json::array();
  for (const JobStatus* job : jobs) {
    listed.push_back({{"job", job->job_id},
                      {"owner", job->owner},
                      {"seconds", job->seconds},
                      {"world_size", job->world_size},
                      {"trainers", TrainersOf(*job)},
                      {"hosts", HostsOf(*job)},
                      {"requests", job->requests},
                      {"rows", job->rows_served + job->mapped_reads.rows},
                      {"edges", job->edges_sampled + job->mapped_reads.edges},
                      {"request_bytes", job->memory_bytes},
                      {"tensor_bytes", tensor_bytes[job->job_id]}});
  }
  return listed;
}

}  // namespace

std::string DocumentWhileLoading(const std::string& server_name,
                                 std::pair<uint64_t, uint64_t> bytes) {
  json document = NewDocument(server_name, "loading");
  document["loading"] = {{"bytes", bytes.first}, {"total", bytes.second}};
  return TextOf(document);
}

std::string DocumentOf(const ServerNumbers& numbers) {
  const ServerStatus& status = numbers.status;
  json document = NewDocument(status.server_name,
                              status.state == "ready" && status.drained ? "drained" : status.state);
  json parts = json::array();
  uint64_t graph_bytes = 0, trainers = 0;
  for (const PartitionStatus& part : status.partitions) {
    parts.push_back(part.part);
    graph_bytes += part.bytes + part.index_bytes;
  }
  const std::vector<const JobStatus*> jobs = ShownJobs(status);
  for (const JobStatus* job : jobs) trainers += TrainersOf(*job);
  document["graph_name"] = status.graph_name;
  document["num_parts"] = status.num_parts;
  document["parts"] = parts;
  document["uptime_seconds"] = status.uptime_seconds;
  document["requests"] = status.requests;
  document["rows"] = status.rows_served + status.mapped_reads.rows;
  document["edges"] = status.edges_sampled + status.mapped_reads.edges;
  document["graph_bytes"] = graph_bytes;
  document["tensor_bytes"] = status.store ? status.store->resident_bytes : 0;
  document["store_trouble"] = status.store && !status.store->trouble.empty();
  document["checkpoints"] = numbers.requests.checkpoints.load();
  document["num_jobs"] = jobs.size();
  document["num_trainers"] = trainers;
  document["jobs"] = JobsOf(status, jobs);
  return TextOf(document);
}

}  // namespace graphd
