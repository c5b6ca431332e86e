// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::store {

// The tmpfs that every Linux has, used for memory that survives the process.
inline constexpr const char* kDefaultMemoryDir = "/dev/shm";

// Returns a message that the tmpfs which holds `path` is full, with a remedy.
std::string FullMemoryDir(const std::string& path);

// Allocates the memory of a part of a file at once; otherwise a later shortage would raise SIGBUS.
// `path` is the path of the file, empty for a memfd. Throws Error(kOverloaded) with `what` and a
// remedy.
void AllocateFile(int fd, uint64_t offset, uint64_t bytes, const std::string& path,
                  const std::string& what);

// Returns how many bytes may be allocated before they are needed, so that an eighth of
// TotalMemory() and an eighth of the tmpfs that has the file `fd` stay free. `fd` is -1 for
// anonymous memory.
uint64_t SpareMemory(int fd);

}  // namespace graphd::store
