// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ctl/verbs/host_options.h"

// The options that the verbs for one job have in common. They say which job is meant, and on which
// hosts it runs.

namespace graphd::ctl {

struct JobOptions {
  HostOptions hosts;
  std::string job;
};

// Adds JOB, --server_name, --trainer_hosts and the options of AddHostOptions.
void AddJobOptions(CLI::App& verb, JobOptions& options);

// If no --ip_config was given and this host knows the job, sets the server's name and the hosts to
// those that the job was launched with, and returns true; otherwise returns false. Requires:
// Resolve was called for `options`.
bool TakeFromJob(const std::string& job, HostOptions& options);

// Returns the hosts of a job, each with an order for it. The hosts come from --ip_config and
// --trainer_hosts. Without --ip_config, they are the hosts that the job was launched with, which
// this host knows if it is one of them. Throws Error(kNotFound) if this host doesn't know the job.
std::vector<HostPlan> PlanJobHosts(JobOptions& options, HostAction action);

}  // namespace graphd::ctl
