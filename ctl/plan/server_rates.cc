// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/server_rates.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

// Pairs of names: in MachineRates' result, in a status.
constexpr std::array<std::pair<const char*, const char*>, 6> kCounters{
    {{"requests", "requests"},
     {"rows", "rows_served"},
     {"edges", "edges_sampled"},
     {"bytes_sent", "bytes_sent"},
     {"rows_cached", "rows_cached"},
     {"rows_not_cached", "rows_not_cached"}}};

double Number(const json& status, const char* name) { return ValueOr(status, name, 0.0); }

double Pushes(const json& status) {
  const json store = ValueOr(status, "store", json());
  return store.is_object() ? Number(store, "pushes") : 0;
}

std::string Short(double value) {
  static constexpr std::array<const char*, 5> kUnits{"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (value >= 9999.5 && unit + 1 < kUnits.size()) value /= 1000, unit++;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 && value < 9.95 ? "%.1f%s" : "%.0f%s", value,
                kUnits[unit]);
  return text;
}

std::string Rate(const json& machine, const char* name) {
  return machine.contains(name) ? Short(Number(machine, name)) : "-";
}

// Returns the share of the rows that trainers looked for in their caches and found there.
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
          HumanBytes(ValueOr(machine, "tensor_bytes", uint64_t{0}))};
}

constexpr size_t kFirstNumber = 2;  // columns from this one on are right-aligned

std::string Aligned(const Row& row, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < row.size(); i++) {
    const std::string space(widths[i] - std::min(widths[i], row[i].size()), ' ');
    line += i >= kFirstNumber ? space + row[i] : row[i] + space;
    if (i + 1 < row.size()) line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

json MachineRates(const std::string& host, const json& before, const json& after) {
  size_t trainers = 0;
  uint64_t tensor_bytes = 0;
  const json jobs = ValueOr(after, "jobs", json::array());
  for (const json& job : jobs) {
    for (const json& member : ValueOr(job, "members", json::array())) {
      trainers += ValueOr(member, "role", "") == "trainer" ? 1 : 0;
    }
  }
  for (const json& tensor : ValueOr(after, "tensors", json::array())) {
    tensor_bytes += ValueOr(tensor, "resident_bytes", uint64_t{0});
  }
  json machine = {{"host", host},
                  {"server_name", ValueOr(after, "server_name", "?")},
                  {"pid", ValueOr(after, "pid", int64_t{0})},
                  {"uptime_seconds", Number(after, "uptime_seconds")},
                  {"rss_bytes", ValueOr(after, "rss_bytes", uint64_t{0})},
                  {"tensor_bytes", tensor_bytes},
                  {"jobs", jobs.size()},
                  {"trainers", trainers}};
  const double seconds =
      Number(after, "uptime_seconds") - (before.is_object() ? Number(before, "uptime_seconds") : 0);
  if (!before.is_object() || ValueOr(before, "pid", int64_t{0}) != machine["pid"] || seconds <= 0) {
    return machine;
  }
  machine["seconds"] = seconds;
  for (const auto& [name, counter] : kCounters) {
    machine[name] = (Number(after, counter) - Number(before, counter)) / seconds;
  }
  machine["pushes"] = (Pushes(after) - Pushes(before)) / seconds;
  return machine;
}

std::vector<std::string> RatesTable(const json& machines) {
  std::vector<Row> rows{{"MACHINE", "SERVER", "JOBS", "TRAINERS", "REQUESTS/s", "ROWS/s", "EDGES/s",
                         "PUSHES/s", "SENT/s", "CACHED", "MEMORY", "TENSORS"}};
  for (const json& machine : machines) rows.push_back(MachineRow(machine));
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    if (row.size() < widths.size()) widths[0] = std::max(widths[0], row[0].size());
    if (row.size() < widths.size()) continue;  // an error takes the rest of the line
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const Row& row : rows) lines.push_back(Aligned(row, widths));
  return lines;
}

}  // namespace graphd::ctl
