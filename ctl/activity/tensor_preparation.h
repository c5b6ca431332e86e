// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Shows which embeddings are new, which means that their memory is still being prepared ahead of
// need. Their steps are slower until it is.

namespace graphd::ctl {

// Returns the tensors in a daemon's status (ctl/hosts/server_status.h) whose memory is prepared:
// an array of {"name", "part", "resident_bytes", "preparing_bytes"}.
nlohmann::json PreparedTensors(const nlohmann::json& status);

// Returns a line for each of these tensors. `machines` are those of RatesTable, with
// PreparedTensors as "preparing". Lines have no control characters.
std::vector<std::string> PreparationLines(const nlohmann::json& machines);

}  // namespace graphd::ctl
