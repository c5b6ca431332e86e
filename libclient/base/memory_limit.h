// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// The memory that this process may still allocate. It is the smaller of two numbers: the memory
// that the kernel calls available, and the memory that the limits of this process's cgroups leave.
// `source` names the one that applies ("MemAvailable", "cgroup limit").
struct MemoryLimit {
  uint64_t bytes = UINT64_MAX;
  std::string source;
};
MemoryLimit AvailableMemory();

// Returns the memory of the machine, or the limit of this process's cgroup if that is smaller.
uint64_t TotalMemory();

// Returns the sum of two sizes, or UINT64_MAX if it is larger than that.
inline uint64_t AddSizes(uint64_t a, uint64_t b) noexcept {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Throws Error(kOverloaded) with both numbers and the remedy if `needed` bytes exceed the limit.
inline constexpr const char* kServeLess =
    "serve fewer partitions on this machine, partition into more, or free memory";
void CheckMemory(uint64_t needed, const MemoryLimit& limit, const std::string& what,
                 const char* remedy = kServeLess);

}  // namespace graphd
