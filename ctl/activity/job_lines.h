// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Returns one line for each job in the daemons' statuses (ctl/hosts/server_status.h). A job with
// trainers on several machines has one line, too. `machines` has the results of MachineRates, whose
// rates of jobs are added to the lines; it may be empty. Lines have no control characters.
std::vector<std::string> JobLines(const std::vector<nlohmann::json>& statuses,
                                  const nlohmann::json& machines);

}  // namespace graphd::ctl
