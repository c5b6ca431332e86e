// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns a line for each job in daemons' statuses (ctl/hosts/server_status.h), even if it has
// trainers on several machines. `machines` has the results of MachineRates, whose rates of jobs are
// shown, too; it may be empty. Lines have no control characters.
std::vector<std::string> JobLines(const std::vector<nlohmann::json>& statuses,
                                  const nlohmann::json& machines);

}  // namespace graphd::ctl
