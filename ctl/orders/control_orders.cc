// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/control_orders.h"

#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/orders/answer.h"
#include "ctl/orders/switch_order.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

// The time within which the connections of an ended job must be closed.
constexpr double kCloseSeconds = 10;
constexpr int kPollMilliseconds = 20;
constexpr int kDrainPollMilliseconds = 200;
// Reloading may take long, because the configuration may name users whom the daemon must look up in
// a slow directory service.
constexpr std::chrono::milliseconds kReloadTimeout{60000};

// Returns the ids of the jobs that are attached to the daemon.
std::vector<std::string> JobsAt(ControlClient& client) {
  std::vector<std::string> jobs;
  for (const JobStatus& job : client.Status().jobs) jobs.push_back(job.job_id);
  return jobs;
}

json Drain(const ControlOrder& order, ControlClient& client) {
  const bool on = order.verb == ControlVerb::kDrain;
  const bool changed = client.Drain(on, order.by, order.reason);
  std::vector<std::string> jobs = JobsAt(client);
  const Clock::time_point start = Clock::now();
  while (on && order.wait > 0 && !jobs.empty()) {
    if (SecondsSince(start) > order.wait) {
      Throw(
          ErrorCode::kDeadline, "drained, but after ", order.wait, " s ",
          jobs.size() == 1 ? "job " : "jobs ", Join(jobs, ", "), jobs.size() == 1 ? " is" : " are",
          " still attached; wait again, or end them with graphctl stop or graphctl server end_job");
    }
    if (!PauseWhileAsked(kDrainPollMilliseconds)) {
      Throw(ErrorCode::kUnavailable, "graphctl has ended; the server stays drained");
    }
    jobs = JobsAt(client);
  }
  return {{"changed", changed}, {"jobs", jobs}};
}

bool HasJob(ControlClient& client, const std::string& job_id) {
  try {
    const ServerStatus status = client.Status();
    return std::any_of(status.jobs.begin(), status.jobs.end(),
                       [&](const JobStatus& job) { return job.job_id == job_id; });
  } catch (const Error& error) {
    // The server may have been told to end with its last job, and then it has ended.
    if (error.code() == ErrorCode::kUnavailable) return false;
    throw;
  }
}

json EndJob(const ControlOrder& order, ControlClient& client) {
  const uint32_t connections = client.EndJob(order.job, order.by, order.reason);
  const Clock::time_point start = Clock::now();
  while (HasJob(client, order.job)) {
    if (SecondsSince(start) > kCloseSeconds) {
      Throw(ErrorCode::kDeadline, "job ", order.job,
            " is refused from now on, but its connections are not closed after ", kCloseSeconds,
            " s; try again, or see the server's log");
    }
    ::poll(nullptr, 0, kPollMilliseconds);
  }
  return {{"job", order.job}, {"connections", connections}};
}

json Reload(const ControlOrder& order, ControlClient& client) {
  client.SetTimeout(kReloadTimeout);
  json changes = json::array();
  for (const ChangedOption& change : client.Reload(order.by)) {
    changes.push_back({{"key", change.key},
                       {"before", change.before},
                       {"after", change.after},
                       {"needs_restart", change.needs_restart},
                       {"place", change.place}});
  }
  return {{"changes", changes}};
}

json Requests(const ControlOrder& order, ControlClient& client) {
  const OldestRequests found = client.Requests(order.most);
  json requests = json::array();
  for (const RequestStatus& request : found.requests) {
    requests.push_back({{"operation", request.operation},
                        {"state", request.state},
                        {"seconds", request.seconds},
                        {"job", request.job_id},
                        {"rank", request.rank},
                        {"pid", request.pid},
                        {"peer", request.peer}});
  }
  return {{"total", found.total}, {"requests", requests}};
}

json Memory(const ControlOrder& order, ControlClient& client) {
  const MemoryUse use = client.Memory(order.most);
  json arrays = json::array(), tensors = json::array();
  for (const ArrayMemory& array : use.arrays) {
    arrays.push_back({{"part", array.part},
                      {"segment", array.segment},
                      {"type", array.type},
                      {"name", array.name},
                      {"dtype", array.dtype},
                      {"shape", array.shape},
                      {"bytes", array.bytes},
                      {"pages", array.pages},
                      {"fingerprint", array.fingerprint}});
  }
  for (const TensorMemory& tensor : use.tensors) {
    tensors.push_back({{"part", tensor.part},
                       {"name", tensor.name},
                       {"job", tensor.job_id},
                       {"dtype", tensor.dtype},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes},
                       {"changed_bytes", tensor.changed_bytes},
                       {"stored_bytes", tensor.stored_bytes}});
  }
  return {{"arrays", arrays},
          {"tensors", tensors},
          {"num_arrays", use.num_arrays},
          {"num_tensors", use.num_tensors},
          {"graph_bytes", use.graph_bytes},
          {"index_bytes", use.index_bytes},
          {"tensor_bytes", use.tensor_bytes},
          {"buffer_bytes", use.buffer_bytes},
          {"changed_bytes", use.changed_bytes},
          {"stored_bytes", use.stored_bytes},
          {"rss_bytes", use.rss_bytes}};
}

json Answer(const ControlOrder& order, ControlClient& client,
            const std::function<void(const json&)>& send, const std::string& input) {
  switch (order.verb) {
    case ControlVerb::kDrain:
    case ControlVerb::kUndrain:
      return Drain(order, client);
    case ControlVerb::kEndJob:
      return EndJob(order, client);
    case ControlVerb::kLogLevel:
      return {{"before", client.SetLogLevel(order.level, order.by)}, {"level", order.level}};
    case ControlVerb::kReload:
      return Reload(order, client);
    case ControlVerb::kRequests:
      return Requests(order, client);
    case ControlVerb::kMemory:
      return Memory(order, client);
    case ControlVerb::kSwitch:
      return SwitchGraph(order, client, send, input);
    default:
      break;
  }
  Throw(ErrorCode::kInternal, "an order without a meaning");
}

}  // namespace

json CarryOutControl(const ControlOrder& order, ControlClient& client,
                     const std::function<void(const json&)>& send, const std::string& input) {
  return {{"t", "control"}, {"answer", Answer(order, client, send, input)}};
}

}  // namespace graphd::ctl
