// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

// Functions that add up numbers in a daemon's status (ctl/hosts/server_status.h). A missing number
// counts as 0.

namespace graphd::ctl {

// Returns the number of trainers that are attached to a daemon, of all jobs.
size_t TrainersIn(const nlohmann::json& status);

// Returns the memory in bytes that holds a daemon's tensors.
uint64_t TensorBytesIn(const nlohmann::json& status);

// Returns the memory in bytes that holds a daemon's graph: all versions, with their derived arrays.
uint64_t GraphBytesIn(const nlohmann::json& status);

// Returns the text that follows the word "loading" for a daemon that is loading: " 12 %", or
// nothing while the daemon does not know how much it has to load.
std::string LoadedText(const nlohmann::json& loading);

}  // namespace graphd::ctl
