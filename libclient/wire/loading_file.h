// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace graphd {

// The progress of a daemon that is still loading, and therefore answers no requests yet. The daemon
// keeps it in a file beside its socket.
struct LoadingState {
  std::string server_name;
  int64_t pid = 0;
  uint64_t done = 0, total = 0;  // bytes of its partitions; total is 0 while unknown

  // Returns how much of the bytes is in memory, in percent; 0 if the total is not known yet.
  int percent() const;
};

// Returns the path of the file: that of the socket, with ".loading" instead of ".sock".
std::string LoadingFilePath(const std::string& socket);

// Writes the file. Errors, such as a full disk, are ignored, because the daemon can load without
// it.
void WriteLoadingFile(const std::string& path, const LoadingState& state) noexcept;
// Returns the content of the file; nothing if there is no file, if it can't be read, or if the
// process that has written it has ended.
std::optional<LoadingState> ReadLoadingFile(const std::string& path) noexcept;

}  // namespace graphd
