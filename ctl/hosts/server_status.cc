// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/server_status.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/strings.h"
#include "ctl/activity/operation_times.h"
#include "ctl/plan/job_decision.h"
#include "ctl/plan/json_value.h"
#include "graph/id_json.h"
#include "wire/loading_file.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

const char* RoleName(JobRole role) { return role == JobRole::kLauncher ? "launcher" : "trainer"; }

void AddMappedReads(const MappedReads& reads, json& to) {
  to["mapped_calls"] = reads.calls;
  to["mapped_rows"] = reads.rows;
  to["mapped_bytes"] = reads.bytes;
  to["mapped_edges"] = reads.edges;
}

json PagesToJson(const std::vector<PageBytes>& pages) {
  json shown = json::object();
  for (const PageBytes& each : pages) shown[each.pages] = each.bytes;
  return shown;
}

// Returns the kinds of a partition's pages, for people: " in 4 KiB pages", or each kind with its
// bytes if there are several.
std::string PagesToText(const json& part) {
  std::vector<std::pair<uint64_t, std::string>> kinds;
  const json page_bytes = ValueOr(part, "page_bytes", json::object());
  for (const auto& [kind, bytes] : page_bytes.items()) {
    kinds.push_back({ValueOr(page_bytes, kind.c_str(), uint64_t{0}), kind});
  }
  if (kinds.size() < 2) return StrCat(" in ", ValueOr(part, "pages", "?"), " pages");
  std::sort(kinds.rbegin(), kinds.rend());
  std::vector<std::string> texts;
  for (const auto& [bytes, kind] : kinds) {
    texts.push_back(StrCat(HumanBytes(bytes), " in ", kind, " pages"));
  }
  return StrCat(" (", Join(texts, ", "), ")");
}

json JobToJson(const JobStatus& job) {
  json members = json::array();
  for (const MemberStatus& member : job.members) {
    members.push_back({{"role", RoleName(member.role)},
                       {"rank", member.rank},
                       {"pid", member.pid},
                       {"peer", member.peer}});
  }
  json shown = {{"job", job.job_id},
                {"command", job.command},
                {"world_size", job.world_size},
                {"seconds", job.seconds},
                {"fingerprint", job.fingerprint},
                {"members", members},
                {"requests", job.requests},
                {"rows_served", job.rows_served},
                {"edges_sampled", job.edges_sampled},
                {"bytes_sent", job.bytes_sent},
                {"memory_bytes", job.memory_bytes},
                {"owner", job.owner}};
  AddMappedReads(job.mapped_reads, shown);
  return shown;
}

// The maximum number of bytes of job records in a status: kRecordsRoom without the times of
// operations, kRecordsRoomBesideTimes with them. A status is one line, which must fit into a frame
// (FrameReader) even with a thousand tensors and with times in every bucket of every operation.
constexpr size_t kRecordsRoom = size_t{512} << 10, kRecordsRoomBesideTimes = size_t{320} << 10;
constexpr size_t kMaxCommandShown = 200;

// Returns a record, or null if `room` bytes are not enough, and lowers `room` by about the bytes of
// the record. Leaves out hosts for which there is no room. Also leaves out reasons that are the
// same as that of the host where the job ended first, because all hosts report a job's end with the
// same reason.
json RecordToJson(const JobRecord& record, size_t& room) {
  std::string command = record.command;
  Truncate(command, kMaxCommandShown);
  const auto take = [&room](size_t texts) {
    const size_t bytes = 200 + 2 * texts;  // 200 for keys and numbers; texts may have escapes
    if (bytes > room) return false;
    room -= bytes;
    return true;
  };
  if (!take(record.job_id.size() + command.size())) return nullptr;
  const JobHost* const first = FirstToEnd(record.hosts);
  const JobHost* const lead = FindHost(record.hosts, 0);
  json hosts = json::array();
  for (const JobHost& host : record.hosts) {
    const bool tells = !first || &host == first || host.reason != first->reason;
    if (!take(host.name.size() + (tells ? host.reason.size() : 0))) break;
    hosts.push_back({{"host", host.host},
                     {"name", host.name},
                     {"phase", JobPhaseName(host.phase)},
                     {"attempt", host.attempt},
                     {"code", host.code},
                     {"ended_at", host.ended_at}});
    if (tells) hosts.back()["reason"] = host.reason;
    if (lead && IsAway(*lead, host.host)) hosts.back()["away"] = true;
  }
  return {{"job", record.job_id},
          {"command", command},
          {"num_hosts", record.num_hosts},
          {"max_restarts", record.max_restarts},
          {"restarts", lead ? CountedRestarts(*lead) : 0},
          {"silent_seconds", record.silent_seconds},
          {"hosts", hosts}};
}

json TensorToJson(const TensorShare& share) {
  const TensorSpec& spec = share.info.spec;
  return {{"name", spec.name},
          {"part", share.part},
          {"dtype", DTypeName(spec.dtype)},
          {"shape", spec.shape()},
          {"persistent", spec.persistent},
          {"writers", spec.writers == TensorWriters::kMany ? "many" : "exclusive"},
          {"optimizer_state", OptimizerStateName(share.info.state)},
          {"job", share.info.job_id},
          {"holder", share.info.holder},
          {"rows", share.stored_rows},
          {"resident_bytes", share.resident_bytes},
          {"preparing_bytes", share.preparing_bytes},
          {"trouble", share.trouble}};
}

json StoreToJson(const StoreStatus& store) {
  return {{"directory", store.directory},
          {"durability", store.durability},
          {"memory", store.memory},
          {"memory_bytes", store.memory_bytes},
          {"resident_bytes", store.resident_bytes},
          {"page_bytes", store.page_bytes},
          {"log_bytes", store.log_bytes},
          {"pushes", store.pushes},
          {"changed_bytes", store.changed_bytes},
          {"written_bytes", store.written_bytes},
          {"trouble", store.trouble},
          {"damage", store.damage}};
}

json DrainToJson(const DrainStatus& drained) {
  return {{"by", drained.by}, {"reason", drained.reason}, {"seconds", drained.seconds}};
}

std::string TensorToText(const json& tensor) {
  std::vector<std::string> extents;
  for (const json& extent : ValueOr(tensor, "shape", json::array()))
    extents.push_back(extent.dump());
  const std::string job = ValueOr(tensor, "job", ""), holder = ValueOr(tensor, "holder", "");
  const std::string state = ValueOr(tensor, "optimizer_state", "none");
  const std::string trouble = ValueOr(tensor, "trouble", "");
  std::string text = StrCat("  tensor '", ValueOr(tensor, "name", "?"), "', partition ",
                            ValueOr(tensor, "part", 0), ": ", ValueOr(tensor, "dtype", "?"), " [",
                            Join(extents, ", "), "]");
  if (state != "none") text += ", state of " + state;
  text += StrCat(", ", HumanBytes(ValueOr(tensor, "resident_bytes", uint64_t{0})), " in memory");
  if (const auto bytes = ValueOr(tensor, "preparing_bytes", uint64_t{0}); bytes > 0) {
    text += StrCat(" of ", HumanBytes(bytes), " that are prepared for it");
  }
  if (!job.empty()) text += ", of job " + job;
  if (!holder.empty()) text += ", written by job " + holder;
  if (ValueOr(tensor, "writers", "") == "many") text += ", written by all jobs";
  if (!trouble.empty()) text += "\n    TROUBLE: " + trouble;
  return text + "\n";
}

std::string StoreToText(const json& store) {
  std::string text = StrCat("  store ", ValueOr(store, "directory", "?"), ", durability ",
                            ValueOr(store, "durability", "?"), ": ",
                            HumanBytes(ValueOr(store, "page_bytes", uint64_t{0})), " of pages, ",
                            HumanBytes(ValueOr(store, "log_bytes", uint64_t{0})), " of log");
  if (const std::string memory = ValueOr(store, "memory", ""); !memory.empty()) {
    text += ", memory in " + memory;
  }
  text += "\n";
  if (const std::string trouble = ValueOr(store, "trouble", ""); !trouble.empty()) {
    text += "    TROUBLE: " + trouble + "\n";
  }
  for (const json& damage : ValueOr(store, "damage", json::array())) {
    if (damage.is_string()) text += "    DAMAGE: " + damage.get<std::string>() + "\n";
  }
  return text;
}

std::string Duration(double seconds) {
  seconds = std::max(seconds, 0.0);
  char text[48];
  const auto whole = static_cast<long long>(seconds);
  if (seconds < 120) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (seconds < 2 * 3600) {
    std::snprintf(text, sizeof text, "%lld min", whole / 60);
  } else {
    std::snprintf(text, sizeof text, "%lld h %lld min", whole / 3600, whole / 60 % 60);
  }
  return text;
}

std::string DrainToText(const json& drained) {
  const std::string reason = ValueOr(drained, "reason", "");
  return StrCat("  DRAINED by ", ValueOr(drained, "by", "?"), " ",
                Duration(ValueOr(drained, "seconds", 0.0)), " ago",
                reason.empty() ? "" : StrCat(" (", reason, ")"),
                ": takes no new jobs until `graphctl server undrain`\n");
}

// Returns the beginning of the line of a job that is attached.
std::string AttachedText(const json& job, bool tells_version) {
  int trainers = 0;
  for (const json& member : ValueOr(job, "members", json::array())) {
    trainers += ValueOr(member, "role", "") == "trainer" ? 1 : 0;
  }
  return StrCat("  job ", ValueOr(job, "job", "?"), ", ", Duration(ValueOr(job, "seconds", 0.0)),
                ", ", trainers, " of ", ValueOr(job, "world_size", 0), " trainers attached here",
                tells_version ? StrCat(", graph ", ValueOr(job, "fingerprint", "?")) : "");
}

// Returns a line for each version of the graph, the current one first.
std::string GraphsToText(const json& graphs) {
  std::string text;
  for (const json& graph : graphs) {
    const auto jobs = ValueOr(graph, "jobs", uint64_t{0});
    text += StrCat("  graph ", ValueOr(graph, "fingerprint", "?"), " of ",
                   ValueOr(graph, "part_config", "?"), ": ",
                   HumanBytes(ValueOr(graph, "bytes", uint64_t{0})), ", ",
                   text.empty() ? "for new jobs" : "an earlier version", ", used by ", jobs,
                   jobs == 1 ? " job\n" : " jobs\n");
  }
  return text;
}

// A description of what the hosts of a job, which decide together without a launcher, have
// reported.
struct RecordText {
  std::string text;  // begins with a comma
  bool has_ended = false;
};

// Describes what a job does, or how it has ended.
RecordText DescribeRecord(const json& record) {
  const json hosts = ValueOr(record, "hosts", json::array());
  const json* outcome = nullptr;  // the host where the job ended first
  uint64_t attempt = 0;
  std::vector<std::string> phases;
  bool all_over = hosts.size() == ValueOr(record, "num_hosts", size_t{0});
  for (const json& host : hosts) {
    const bool is_away = ValueOr(host, "away", false);
    std::string phase = ValueOr(host, "phase", "?");
    if (is_away && phase != "left" && phase != "away") phase = "lost";
    phases.push_back(StrCat(ValueOr(host, "name", "?"), " ", phase));
    attempt = std::max(attempt, ValueOr(host, "attempt", uint64_t{0}));
    all_over = all_over && (phase == "over" || phase == "left" || is_away);
    if (phase != "over") continue;
    const bool earlier =
        !outcome || ValueOr(host, "ended_at", 0.0) < ValueOr(*outcome, "ended_at", 0.0);
    if (earlier) outcome = &host;
  }
  std::string text;
  if (attempt > 0) {
    const auto restarts = ValueOr(record, "restarts", uint64_t{0});
    text += StrCat(
        ", started again ", restarts, " of ", ValueOr(record, "max_restarts", uint64_t{0}),
        " times",
        attempt > restarts ? StrCat(", and ", attempt - restarts, " more that do not count") : "");
  }
  const double silent = ValueOr(record, "silent_seconds", 0.0);
  if (all_over && outcome) {
    const std::string reason = ValueOr(*outcome, "reason", "");
    text += StrCat(", ended ", Duration(silent), " ago with exit code ",
                   ValueOr(*outcome, "code", 0), reason.empty() ? "" : " (" + reason + ")");
    return {text, true};
  }
  text += StrCat(", hosts: ", Join(phases, ", "));
  if (silent > 30) text += StrCat("; nothing was heard of it for ", Duration(silent));
  return {text, false};
}

// Returns the end of a job's line. Jobs that graphctl launch has not started have no command.
std::string CommandText(const json& job) {
  const std::string command = ValueOr(job, "command", "");
  return (command.empty() ? "" : ": " + command) + "\n";
}

// Returns a line for each attached job, with what its hosts have reported about it, and then a line
// for each other job about which hosts have reported. A job that has ended is shown as one of the
// latter even if it is still attached.
std::string JobsToText(const json& jobs, const json& records, bool tells_version) {
  std::map<std::string, RecordText> told;
  for (const json& record : records) told[ValueOr(record, "job", "?")] = DescribeRecord(record);
  std::string text;
  std::set<std::string> shown;
  for (const json& job : jobs) {
    const std::string id = ValueOr(job, "job", "?");
    const RecordText& record = told[id];
    if (record.has_ended) continue;
    text += StrCat(AttachedText(job, tells_version), record.text, CommandText(job));
    shown.insert(id);
  }
  if (jobs.empty()) text += "  no job\n";
  for (const json& record : records) {
    const std::string id = ValueOr(record, "job", "?");
    if (!shown.contains(id)) text += StrCat("  job ", id, told[id].text, CommandText(record));
  }
  return text;
}

}  // namespace

json StatusToJson(const ServerStatus& status, bool operations) {
  json partitions = json::array(), jobs = json::array(), tensors = json::array();
  for (const TensorShare& share : status.tensors) tensors.push_back(TensorToJson(share));
  for (const PartitionStatus& part : status.partitions) {
    partitions.push_back({{"part", part.part},
                          {"nodes", part.num_nodes},
                          {"edges", part.num_edges},
                          {"bytes", part.bytes},
                          {"pages", part.pages},
                          {"page_bytes", PagesToJson(part.page_bytes)},
                          {"index_bytes", part.index_bytes}});
  }
  for (const JobStatus& job : status.jobs) jobs.push_back(JobToJson(job));
  json graphs = json::array();
  for (const GraphVersionStatus& graph : status.graphs) {
    graphs.push_back({{"id", graph.id},
                      {"part_config", graph.part_config},
                      {"fingerprint", graph.fingerprint},
                      {"bytes", graph.bytes},
                      {"jobs", graph.jobs}});
  }
  json records = json::array();
  size_t room = operations ? kRecordsRoomBesideTimes : kRecordsRoom;
  for (const JobRecord& record : status.records) {
    json shown = RecordToJson(record, room);
    if (!shown.is_null()) records.push_back(std::move(shown));
  }
  json shown = {{"server_name", status.server_name},
                {"version", status.version},
                {"protocol", status.protocol},
                {"graph_name", status.graph_name},
                {"part_config", status.part_config},
                {"state", status.state},
                {"pid", status.pid},
                {"uptime_seconds", status.uptime_seconds},
                {"listening", status.listening},
                {"insecure", status.insecure},
                {"ends_with_jobs", status.ends_with_jobs},
                {"num_parts", status.num_parts},
                {"partitions", partitions},
                {"graphs", graphs},
                {"jobs", jobs},
                {"job_records", records},
                {"tensors", tensors},
                {"store", status.store ? StoreToJson(*status.store) : json()},
                {"drained", status.drained ? DrainToJson(*status.drained) : json()},
                {"requests", status.requests},
                {"rows_served", status.rows_served},
                {"edges_sampled", status.edges_sampled},
                {"bytes_sent", status.bytes_sent},
                {"rows_cached", status.rows_cached},
                {"rows_not_cached", status.rows_not_cached},
                {"rss_bytes", status.rss_bytes}};
  if (operations) shown["operations"] = OperationsToJson(status.operations);
  AddMappedReads(status.mapped_reads, shown);
  return shown;
}

std::optional<json> LoadingStatusOf(const std::string& socket) {
  const std::optional<LoadingState> state = ReadLoadingFile(LoadingFilePath(socket));
  if (!state) return std::nullopt;
  return json{
      {"server_name", state->server_name},
      {"state", "loading"},
      {"pid", state->pid},
      {"loading", {{"done", state->done}, {"total", state->total}, {"percent", state->percent()}}}};
}

std::string StatusToText(const std::string& host, const json& status) {
  if (const json loading = ValueOr(status, "loading", json()); loading.is_object()) {
    const auto done = ValueOr(loading, "done", uint64_t{0}),
               total = ValueOr(loading, "total", uint64_t{0});
    return StrCat(host, ": server '", ValueOr(status, "server_name", "?"), "' loading",
                  total == 0 ? std::string()
                             : StrCat(" ", ValueOr(loading, "percent", 0), " %, ", HumanBytes(done),
                                      " of ", HumanBytes(total)),
                  ", pid ", ValueOr(status, "pid", int64_t{0}), "\n");
  }
  std::string text = StrCat(
      host, ": server '", ValueOr(status, "server_name", "?"), "' ", ValueOr(status, "state", "?"),
      ", graph '", ValueOr(status, "graph_name", "?"), "', pid ",
      ValueOr(status, "pid", int64_t{0}), ", up ", Duration(ValueOr(status, "uptime_seconds", 0.0)),
      ", ", HumanBytes(ValueOr(status, "rss_bytes", uint64_t{0})), " resident",
      ValueOr(status, "ends_with_jobs", false) ? ", ends with its last job" : "", "\n");
  std::vector<std::string> listening;
  for (const json& each : ValueOr(status, "listening", json::array())) {
    if (each.is_string()) listening.push_back(each.get<std::string>());
  }
  text += StrCat(
      "  serves ", Join(listening, " and "),
      ValueOr(status, "insecure", false) ? " (INSECURE: anyone who reaches the port)" : "", "\n");
  for (const json& part : ValueOr(status, "partitions", json::array())) {
    text += StrCat("  partition ", ValueOr(part, "part", 0), " of ",
                   ValueOr(status, "num_parts", 0), ": ", ValueOr(part, "nodes", int64_t{0}),
                   " nodes, ", ValueOr(part, "edges", int64_t{0}), " edges, ",
                   HumanBytes(ValueOr(part, "bytes", uint64_t{0})), PagesToText(part));
    const auto indexes = ValueOr(part, "index_bytes", uint64_t{0});
    text += indexes ? StrCat(", indexes ", HumanBytes(indexes), "\n") : "\n";
  }
  const json graphs = ValueOr(status, "graphs", json::array());
  if (graphs.size() > 1) text += GraphsToText(graphs);
  for (const json& tensor : ValueOr(status, "tensors", json::array())) text += TensorToText(tensor);
  if (const json store = ValueOr(status, "store", json()); store.is_object()) {
    text += StoreToText(store);
  }
  if (const json drained = ValueOr(status, "drained", json()); drained.is_object()) {
    text += DrainToText(drained);
  }
  text += JobsToText(ValueOr(status, "jobs", json::array()),
                     ValueOr(status, "job_records", json::array()), graphs.size() > 1);
  return text;
}

}  // namespace graphd::ctl
