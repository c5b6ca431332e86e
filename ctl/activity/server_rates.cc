// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/server_rates.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

#include "base/strings.h"
#include "ctl/activity/status_sums.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/table.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

// Pairs of names: the name in the result of MachineRates, and the name in a status.
constexpr std::array<std::pair<const char*, const char*>, 10> kCounters{
    {{"requests", "requests"},
     {"rows", "rows_served"},
     {"edges", "edges_sampled"},
     {"bytes_sent", "bytes_sent"},
     {"rows_cached", "rows_cached"},
     {"rows_not_cached", "rows_not_cached"},
     {"mapped_calls", "mapped_calls"},
     {"mapped_rows", "mapped_rows"},
     {"mapped_bytes", "mapped_bytes"},
     {"mapped_edges", "mapped_edges"}}};

double Number(const json& status, const char* name) { return ValueOr(status, name, 0.0); }

double Pushes(const json& status) {
  const json store = ValueOr(status, "store", json());
  return store.is_object() ? Number(store, "pushes") : 0;
}

// Returns the rate of a counter. It is never negative, even if the counter began again.
double PerSecond(double before, double after, double seconds) {
  return std::max(0.0, after - before) / seconds;
}

// Returns the rates of the jobs that were attached at both times.
json JobRates(const json& before, const json& after, double seconds) {
  std::map<std::string, json> old_jobs;
  for (json& job : ValueOr(before, "jobs", json::array())) {
    old_jobs.emplace(ValueOr(job, "job", ""), std::move(job));
  }
  json rates = json::array();
  for (const json& job : ValueOr(after, "jobs", json::array())) {
    const auto found = old_jobs.find(ValueOr(job, "job", ""));
    if (found == old_jobs.end()) continue;
    // A job that has left and come back since `before` is younger than the interval. Its counters
    // have begun at 0 again.
    const bool is_same = Number(job, "seconds") >= seconds;
    json rate = {{"job", found->first}};
    for (const char* name : {"mapped_calls", "mapped_rows", "mapped_bytes", "mapped_edges"}) {
      rate[name] = PerSecond(is_same ? Number(found->second, name) : 0, Number(job, name), seconds);
    }
    rates.push_back(std::move(rate));
  }
  return rates;
}

std::string Rate(const json& machine, const char* name) {
  return machine.contains(name) ? RateText(Number(machine, name)) : "-";
}

// Returns the percentage of rows that trainers have found in their caches, of all rows that they
// have looked for there.
std::string HitRate(const json& machine) {
  const double found = Number(machine, "rows_cached");
  const double all = found + Number(machine, "rows_not_cached");
  if (!(all > 0)) return "-";
  return StrCat(static_cast<int>(std::clamp(100 * found / all, 0.0, 100.0)), "%");
}

using Row = std::vector<std::string>;

Row MachineRow(const json& machine) {
  const std::string host = Printable(ValueOr(machine, "host", "?"));
  if (machine.contains("error")) return {host, Printable(ValueOr(machine, "error", "?"))};
  if (machine.contains("loading")) {
    return {host, Printable(ValueOr(machine, "server_name", "?")),
            "loading" + LoadedText(machine["loading"])};
  }
  return {host,
          Printable(ValueOr(machine, "server_name", "?")),
          std::to_string(ValueOr(machine, "jobs", 0)),
          std::to_string(ValueOr(machine, "trainers", 0)),
          Rate(machine, "requests"),
          Rate(machine, "rows"),
          Rate(machine, "edges"),
          Rate(machine, "pushes"),
          machine.contains("bytes_sent")
              ? HumanBytes(static_cast<uint64_t>(std::max(0.0, Number(machine, "bytes_sent"))))
              : "-",
          HitRate(machine),
          HumanBytes(ValueOr(machine, "rss_bytes", uint64_t{0})),
          HumanBytes(ValueOr(machine, "tensor_bytes", uint64_t{0})),
          Rate(machine, "mapped_rows"),
          Rate(machine, "mapped_edges")};
}

constexpr size_t kFirstNumber = 2;  // columns from this one on are right-aligned

}  // namespace

double SecondsBetween(const json& before, const json& after) {
  if (!before.is_object()) return 0;
  // In containers, a restarted daemon may have the same process number as before. The second check
  // notices such a daemon by its smaller number of requests. If it already has more requests, but a
  // shorter uptime, the difference below is negative, so that 0 is returned.
  if (ValueOr(before, "pid", int64_t{0}) != ValueOr(after, "pid", int64_t{0})) return 0;
  if (Number(after, "requests") < Number(before, "requests")) return 0;
  return std::max(0.0, Number(after, "uptime_seconds") - Number(before, "uptime_seconds"));
}

std::string RateText(double value) {
  static constexpr std::array<const char*, 5> kUnits{"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (value >= 9999.5 && unit + 1 < kUnits.size()) value /= 1000, unit++;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 && value < 9.95 ? "%.1f%s" : "%.0f%s", value,
                kUnits[unit]);
  return text;
}

json MachineRates(const std::string& host, const json& before, const json& after) {
  json machine = {{"host", host},
                  {"server_name", ValueOr(after, "server_name", "?")},
                  {"pid", ValueOr(after, "pid", int64_t{0})},
                  {"uptime_seconds", Number(after, "uptime_seconds")},
                  {"rss_bytes", ValueOr(after, "rss_bytes", uint64_t{0})},
                  {"tensor_bytes", TensorBytesIn(after)},
                  {"jobs", ValueOr(after, "jobs", json::array()).size()},
                  {"trainers", TrainersIn(after)}};
  const double seconds = SecondsBetween(before, after);
  if (seconds <= 0) return machine;
  machine["seconds"] = seconds;
  for (const auto& [name, counter] : kCounters) {
    machine[name] = PerSecond(Number(before, counter), Number(after, counter), seconds);
  }
  machine["pushes"] = PerSecond(Pushes(before), Pushes(after), seconds);
  machine["job_rates"] = JobRates(before, after, seconds);
  return machine;
}

std::vector<std::string> RatesTable(const json& machines, size_t width) {
  std::vector<Row> rows{{"MACHINE", "SERVER", "JOBS", "TRAINERS", "REQUESTS/s", "ROWS/s", "EDGES/s",
                         "PUSHES/s", "SENT/s", "CACHED", "MEMORY", "TENSORS", "MAPPED ROWS/s",
                         "MAPPED EDGES/s"}};
  for (const json& machine : machines) rows.push_back(MachineRow(machine));
  return AlignTable(rows, kFirstNumber, SIZE_MAX, width);
}

}  // namespace graphd::ctl
