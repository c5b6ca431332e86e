// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/jobs/job_options.h"

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/supervise/job_directory.h"

namespace graphd::ctl {

void AddJobOptions(CLI::App& verb, JobOptions& options) {
  verb.add_option("JOB", options.job, "The job's id, as `graphctl launch` told it")->required();
  AddServerName(verb, options.hosts);
  AddHostOptions(verb, options.hosts);
  AddTrainerHostsOption(verb, options.hosts);
}

bool TakeFromJob(const std::string& job, HostOptions& options) {
  if (!options.lines.empty() || !IsJobId(job)) return false;
  const std::vector<uint16_t> ports = JobDirectory::PortsOf(job);
  if (ports.empty()) return false;
  const nlohmann::json state = JobDirectory::Open(job, ports[0]).ReadState();
  options.server.server_name = ValueOr(state, "server_name", options.server.server_name);
  if (options.server.runtime_dir.empty()) {
    options.server.runtime_dir = ValueOr(state, "runtime_dir", "");
  }
  options.lines =
      ParseIpConfig(ValueOr(state, "ip_config_text", ""), StrCat("the ip_config of job ", job));
  options.trainers_only.clear();
  for (const std::string& address : TextsIn(state, "trainer_hosts")) {
    options.trainers_only.push_back({address, std::nullopt, StrCat("the hosts of job ", job)});
  }
  return true;
}

std::vector<HostPlan> PlanJobHosts(JobOptions& options, HostAction action) {
  CheckJobId(options.job);
  HostOptions& hosts = options.hosts;
  Resolve(hosts);
  if (hosts.lines.empty() && !TakeFromJob(options.job, hosts)) {
    Throw(
        ErrorCode::kNotFound, "this host does not know job ", options.job,
        "; give --ip_config, the file that the job was launched with, so that its hosts are asked "
        "(graphctl ps shows the jobs of a server)");
  }
  std::vector<HostPlan> plan = PlanHosts(hosts.server, hosts.lines, IsLocalAddress, action);
  AddTrainerHosts(hosts.server, hosts.trainers_only, IsLocalAddress, action, plan);
  return plan;
}

}  // namespace graphd::ctl
