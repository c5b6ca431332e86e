// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Shows the new embeddings: a daemon is still preparing their memory in advance. Until that is
// done, steps of their optimisers are slower.

namespace graphd::ctl {

// Returns the tensors in a daemon's status (ctl/hosts/server_status.h) whose memory is prepared:
// an array of {"name", "part", "resident_bytes", "preparing_bytes"}.
nlohmann::json PreparedTensors(const nlohmann::json& status);

// Returns a line for each of these tensors. `machines` has the entries that RatesTable takes; each
// also has the result of PreparedTensors as its member "preparing". Lines have no control
// characters.
std::vector<std::string> PreparationLines(const nlohmann::json& machines);

}  // namespace graphd::ctl
