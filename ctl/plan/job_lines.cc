// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/job_lines.h"

#include <map>
#include <utility>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/server_rates.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

// The reads of a job's trainers in mapped memory per second, on all machines.
struct Mapped {
  double rows = 0, edges = 0;
};

std::map<std::string, Mapped> MappedByJob(const json& machines) {
  std::map<std::string, Mapped> mapped;
  for (const json& machine : machines) {
    for (const json& job : ValueOr(machine, "job_rates", json::array())) {
      Mapped& all = mapped[ValueOr(job, "job", "?")];
      all.rows += ValueOr(job, "mapped_rows", 0.0);
      all.edges += ValueOr(job, "mapped_edges", 0.0);
    }
  }
  return mapped;
}

}  // namespace

std::vector<std::string> JobLines(const std::vector<json>& statuses, const json& machines) {
  const std::map<std::string, Mapped> mapped = MappedByJob(machines);
  std::map<std::string, std::string> jobs;
  for (const json& status : statuses) {
    for (const json& job : ValueOr(status, "jobs", json::array())) {
      const std::string id = ValueOr(job, "job", "?");
      const auto reads = mapped.find(id);
      std::string rates;
      if (reads != mapped.end() && reads->second.rows + reads->second.edges > 0) {
        rates = StrCat(", ", RateText(reads->second.rows), " rows/s and ",
                       RateText(reads->second.edges), " edges/s in mapped memory");
      }
      // Jobs that graphctl launch has not started have no command.
      const std::string command = ValueOr(job, "command", "");
      jobs[id] = StrCat("job ", id, ", ", ValueOr(job, "world_size", 0), " trainers, ",
                        static_cast<int64_t>(ValueOr(job, "seconds", 0.0)), " s", rates,
                        command.empty() ? "" : ": ", command);
    }
  }
  std::vector<std::string> lines;
  for (auto& [id, line] : jobs) lines.push_back(Printable(std::move(line)));
  return lines;
}

}  // namespace graphd::ctl
