// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

// Adds up what a daemon's status (ctl/hosts/server_status.h) lists. What is missing counts as 0.

namespace graphd::ctl {

// Returns the number of trainers that are attached to a daemon, of all jobs.
size_t TrainersIn(const nlohmann::json& status);

// Returns the memory in bytes that holds a daemon's tensors.
uint64_t TensorBytesIn(const nlohmann::json& status);

// Returns the memory in bytes that holds a daemon's graph: all versions, with their derived arrays.
uint64_t GraphBytesIn(const nlohmann::json& status);

// Returns what follows the word "loading" of a daemon that loads: " 12 %", or nothing while it does
// not know how much it has to load.
std::string LoadedText(const nlohmann::json& loading);

}  // namespace graphd::ctl
