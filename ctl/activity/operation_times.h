// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wire/status.h"

// Computes what `graphctl top` shows about the times of requests from daemons' statuses
// (ctl/hosts/server_status.h). The counts in the distributions of times only grow, so the
// difference of two statuses has the times of the requests that ended between them.

namespace graphd::ctl {

// Convert the distributions of times between their form in C++ and their form in a status. Damaged
// distributions are left out.
nlohmann::json OperationsToJson(const std::vector<OperationTimes>& operations);
std::vector<OperationTimes> OperationsFromJson(const nlohmann::json& operations);

// The requests of one machine that ended between two statuses of the same daemon.
struct MachineOperations {
  std::string host;
  double seconds = 0;  // the time between the statuses; 0: there is only one status
  std::vector<OperationTimes> operations = {};
};
MachineOperations OperationsBetween(const std::string& host, const nlohmann::json& before,
                                    const nlohmann::json& after);

// Returns a list with {"operation", "requests" (per second), "p50", "p99", "queue_p50",
// "queue_p99"} for each operation that had requests. Quantiles are in seconds, and at most 10 % too
// large; those below 1 us are 1 us, and those above 10,000 s are 10,000 s.
nlohmann::json OperationRates(const MachineOperations& machine);

// Returns a table of the operations of all machines together: a heading, and a line for each
// operation that had requests. If there are several machines, each line names the machine whose
// requests were the slowest. Returns nothing if there were no requests. AlignTable says what
// `width` does.
std::vector<std::string> OperationsTable(const std::vector<MachineOperations>& machines,
                                         size_t width = SIZE_MAX);

}  // namespace graphd::ctl
