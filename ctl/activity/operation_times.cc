// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/operation_times.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "ctl/activity/server_rates.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/table.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

json TimesToJson(const TimeBuckets& times) {
  json buckets = json::array();
  for (const TimeBucket& bucket : times.buckets) {
    buckets.push_back({bucket.nanoseconds, bucket.count});
  }
  return {{"seconds", times.seconds}, {"buckets", buckets}};
}

// Returns no times if the buckets are not a list of [bound, count] whose bounds ascend.
TimeBuckets TimesFromJson(const json& times) {
  TimeBuckets out{ValueOr(times, "seconds", 0.0), {}};
  for (const json& bucket : ValueOr(times, "buckets", json::array())) {
    if (!bucket.is_array() || bucket.size() != 2 || !bucket[0].is_number_unsigned() ||
        !bucket[1].is_number_unsigned()) {
      return {};
    }
    const auto bound = bucket[0].get<uint64_t>();
    if (!out.buckets.empty() && bound <= out.buckets.back().nanoseconds) return {};
    out.buckets.push_back({bound, bucket[1].get<uint64_t>()});
  }
  return out;
}

constexpr double kShortest = 1e-6;  // the bound of the daemon's first bucket

std::string TimeText(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1.05 * kShortest) return "<1 us";
  char text[32];
  if (seconds < 0.0095) {
    std::snprintf(text, sizeof text, seconds < 0.00095 ? "%.0f us" : "%.1f ms",
                  seconds < 0.00095 ? seconds * 1e6 : seconds * 1e3);
  } else if (seconds < 0.95) {
    std::snprintf(text, sizeof text, "%.0f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, seconds < 9.5 ? "%.1f s" : "%.0f s", seconds);
  }
  return text;
}

// The requests of one operation on all machines.
struct Together {
  double per_second = 0;
  OperationTimes times = {};
  std::string slowest = {};  // the host with the longest p99
  double slowest_p99 = 0;
};

void AddMachine(const MachineOperations& machine, std::vector<Together>& all) {
  for (const OperationTimes& each : machine.operations) {
    auto found = std::find_if(all.begin(), all.end(), [&](const Together& other) {
      return other.times.operation == each.operation;
    });
    if (found == all.end()) {
      found = all.insert(all.end(), Together{});
      found->times.operation = each.operation;
    }
    found->per_second += static_cast<double>(each.durations.count()) / machine.seconds;
    found->times.durations.Add(each.durations);
    found->times.queued.Add(each.queued);
    if (const double p99 = each.durations.Quantile(0.99); p99 > found->slowest_p99) {
      found->slowest_p99 = p99;
      found->slowest = machine.host;
    }
  }
}

}  // namespace

json OperationsToJson(const std::vector<OperationTimes>& operations) {
  json list = json::array();
  for (const OperationTimes& each : operations) {
    list.push_back({{"operation", each.operation},
                    {"durations", TimesToJson(each.durations)},
                    {"queued", TimesToJson(each.queued)}});
  }
  return list;
}

std::vector<OperationTimes> OperationsFromJson(const json& operations) {
  std::vector<OperationTimes> out;
  for (const json& each : operations) {
    out.push_back({ValueOr(each, "operation", "?"),
                   TimesFromJson(ValueOr(each, "durations", json::object())),
                   TimesFromJson(ValueOr(each, "queued", json::object()))});
  }
  return out;
}

MachineOperations OperationsBetween(const std::string& host, const json& before,
                                    const json& after) {
  MachineOperations machine{host, SecondsBetween(before, after)};
  if (machine.seconds <= 0) return machine;
  const auto old = OperationsFromJson(ValueOr(before, "operations", json::array()));
  for (OperationTimes& each : OperationsFromJson(ValueOr(after, "operations", json::array()))) {
    for (const OperationTimes& earlier : old) {
      if (earlier.operation != each.operation) continue;
      each.durations = each.durations.Since(earlier.durations);
      each.queued = each.queued.Since(earlier.queued);
      break;
    }
    if (each.durations.count() > 0) machine.operations.push_back(std::move(each));
  }
  return machine;
}

json OperationRates(const MachineOperations& machine) {
  json list = json::array();
  for (const OperationTimes& each : machine.operations) {
    list.push_back({{"operation", each.operation},
                    {"requests", static_cast<double>(each.durations.count()) / machine.seconds},
                    {"p50", each.durations.Quantile(0.5)},
                    {"p99", each.durations.Quantile(0.99)},
                    {"queue_p50", each.queued.Quantile(0.5)},
                    {"queue_p99", each.queued.Quantile(0.99)}});
  }
  return list;
}

std::vector<std::string> OperationsTable(const std::vector<MachineOperations>& machines,
                                         size_t width) {
  std::vector<Together> all;
  for (const MachineOperations& machine : machines) AddMachine(machine, all);
  if (all.empty()) return {};
  std::vector<std::vector<std::string>> rows{
      {"OPERATION", "REQUESTS/s", "P50", "P99", "QUEUE P50", "QUEUE P99"}};
  const bool names_slowest = machines.size() > 1;
  if (names_slowest) rows[0].emplace_back("SLOWEST");
  for (const Together& each : all) {
    const TimeBuckets& queued = each.times.queued;
    rows.push_back({Printable(each.times.operation), RateText(each.per_second),
                    TimeText(each.times.durations.Quantile(0.5)),
                    TimeText(each.times.durations.Quantile(0.99)), TimeText(queued.Quantile(0.5)),
                    TimeText(queued.Quantile(0.99))});
    if (!names_slowest) continue;
    rows.back().push_back(StrCat(Printable(each.slowest), ", ", TimeText(each.slowest_p99)));
  }
  return AlignTable(rows, 1, 6, width);  // SLOWEST is not a number
}

}  // namespace graphd::ctl
