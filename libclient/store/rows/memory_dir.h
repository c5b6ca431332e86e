// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd::store {

// The tmpfs that every Linux has, for memory that lasts.
inline constexpr const char* kDefaultMemoryDir = "/dev/shm";

// For messages: that the tmpfs which holds `path` is full, and what to do.
std::string FullMemoryDir(const std::string& path);

// Takes the memory of a part of a file now: later a shortage would be a SIGBUS. `path`: where the
// file is, empty for a memfd. Throws kOverloaded: `what`, and how to make room.
void TakeMemory(int fd, uint64_t offset, uint64_t bytes, const std::string& path,
                const std::string& what);

}  // namespace graphd::store
