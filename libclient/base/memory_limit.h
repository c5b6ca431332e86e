// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// Memory that this process may still take: the least of what the kernel calls available and what
// its cgroup's limit leaves. `source` says which one decided ("MemAvailable", "cgroup limit").
struct MemoryLimit {
  uint64_t bytes = UINT64_MAX;
  std::string source;
};
MemoryLimit AvailableMemory();

// Throws Error(kOverloaded) with both numbers and the remedy unless `needed` fits.
void CheckMemory(uint64_t needed, const MemoryLimit& limit, const std::string& what);

}  // namespace graphd
