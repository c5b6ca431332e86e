// SPDX-License-Identifier: Apache-2.0
#include "base/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Returns the number in a one-line file, or UINT64_MAX if the file holds no number ("max").
uint64_t ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = UINT64_MAX;
  file >> value;
  return file ? value : UINT64_MAX;
}

void Consider(MemoryLimit& limit, uint64_t maximum, uint64_t used, const std::string& source) {
  if (maximum == UINT64_MAX || used == UINT64_MAX) return;
  const uint64_t left = maximum > used ? maximum - used : 0;
  if (left < limit.bytes) limit = {left, source};
}

// Returns a number of /proc/meminfo in bytes, or UINT64_MAX if /proc/meminfo does not have it.
uint64_t MachineMemory(const std::string& name) {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream fields(line);
    std::string key;
    uint64_t kib = 0;
    if (fields >> key >> kib && key == name) return kib * 1024;
  }
  return UINT64_MAX;
}

// Calls f(limit file, usage file, name of the limit) for each cgroup of this process.
template <class F>
void ForEachCgroup(F&& f) {
  std::ifstream cgroups("/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) {
    const auto fields = Split(line, ':');  // hierarchy:controllers:path
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      const std::string dir = "/sys/fs/cgroup" + fields[2] + "/";
      f(dir + "memory.max", dir + "memory.current", "cgroup limit memory.max");
    } else if (fields[1] == "memory") {
      const std::string dir = "/sys/fs/cgroup/memory" + fields[2] + "/";
      f(dir + "memory.limit_in_bytes", dir + "memory.usage_in_bytes",
        "cgroup limit memory.limit_in_bytes");
    }
  }
}

}  // namespace

MemoryLimit AvailableMemory() {
  MemoryLimit limit{MachineMemory("MemAvailable:"), "MemAvailable"};
  ForEachCgroup([&](const std::string& most, const std::string& used, const char* source) {
    Consider(limit, ReadNumber(most), ReadNumber(used), source);
  });
  return limit;
}

uint64_t TotalMemory() {
  uint64_t total = MachineMemory("MemTotal:");
  ForEachCgroup([&](const std::string& most, const std::string&, const char*) {
    total = std::min(total, ReadNumber(most));
  });
  return total;
}

void CheckMemory(uint64_t needed, const MemoryLimit& limit, const std::string& what,
                 const char* remedy) {
  if (needed <= limit.bytes) return;
  Throw(ErrorCode::kOverloaded, what, " needs ", HumanBytes(needed), ", but only ",
        HumanBytes(limit.bytes), " are available (", limit.source, "); ", remedy);
}

}  // namespace graphd
