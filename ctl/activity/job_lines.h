// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns one line for each job in daemons' statuses (ctl/hosts/server_status.h), also for a job
// with trainers on several machines. `machines` has the results of MachineRates; the lines also
// show the rates of jobs in them. It may be empty. Lines have no control characters.
std::vector<std::string> JobLines(const std::vector<nlohmann::json>& statuses,
                                  const nlohmann::json& machines);

}  // namespace graphd::ctl
