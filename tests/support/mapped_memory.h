// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fstream>
#include <string>

namespace graphd::testing {

// Returns how often this process has mapped files whose paths contain `name`, such as the name of a
// memfd.
inline int MappingsOf(const std::string& name) {
  int count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find(name) != std::string::npos;
  return count;
}

}  // namespace graphd::testing
