// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/job_lines.h"

#include <map>
#include <utility>

#include "base/strings.h"
#include "ctl/activity/server_rates.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

// The rows and edges that the trainers of a job read in mapped memory per second, on all machines.
struct Mapped {
  double rows = 0, edges = 0;
};

// The name of a job's server and its id: jobs of several servers may have the same id.
using JobKey = std::pair<std::string, std::string>;

std::map<JobKey, Mapped> MappedByJob(const json& machines) {
  std::map<JobKey, Mapped> mapped;
  for (const json& machine : machines) {
    const std::string server = ValueOr(machine, "server_name", "?");
    for (const json& job : ValueOr(machine, "job_rates", json::array())) {
      Mapped& all = mapped[{server, ValueOr(job, "job", "?")}];
      all.rows += ValueOr(job, "mapped_rows", 0.0);
      all.edges += ValueOr(job, "mapped_edges", 0.0);
    }
  }
  return mapped;
}

}  // namespace

std::vector<std::string> JobLines(const std::vector<json>& statuses, const json& machines) {
  const std::map<JobKey, Mapped> mapped = MappedByJob(machines);
  std::map<JobKey, std::string> jobs;
  for (const json& status : statuses) {
    const std::string server = ValueOr(status, "server_name", "?");
    for (const json& job : ValueOr(status, "jobs", json::array())) {
      const std::string id = ValueOr(job, "job", "?");
      const auto reads = mapped.find({server, id});
      std::string rates;
      if (reads != mapped.end() && reads->second.rows + reads->second.edges > 0) {
        rates = StrCat(", ", RateText(reads->second.rows), " rows/s and ",
                       RateText(reads->second.edges), " edges/s in mapped memory");
      }
      // Jobs that graphctl launch has not started have no command.
      const std::string command = ValueOr(job, "command", "");
      jobs[{server, id}] = StrCat("job ", id, ", ", ValueOr(job, "world_size", 0), " trainers, ",
                                  static_cast<int64_t>(ValueOr(job, "seconds", 0.0)), " s", rates,
                                  command.empty() ? "" : ": ", command);
    }
  }
  std::vector<std::string> lines;
  for (auto& [key, line] : jobs) lines.push_back(Printable(std::move(line)));
  return lines;
}

}  // namespace graphd::ctl
