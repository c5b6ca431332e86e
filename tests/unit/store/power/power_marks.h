// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "tests/unit/store/crash_steps.h"

// Settings and marks shared by store_power_child and power_test. Marks below kCrashClients are
// steps of a client.

namespace graphd::store {

constexpr uint64_t kCheckpointMade = 100, kCheckpointGoes = 101;

inline std::string CheckpointName(uint64_t number) { return "c" + std::to_string(number); }

inline StoreOptions PowerOptions(const std::string& directory) {
  StoreOptions options = CrashOptions(directory, 0);
  options.durability = Durability::kPower;
  options.write_back_seconds = 0.02;
  return options;
}

}  // namespace graphd::store
