// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace graphd {

// The progress of a daemon that loads its partitions. It is reported to the service manager and,
// until this object is destroyed, in a file beside the socket (wire/loading_file.h). graphctl reads
// this file, because the daemon answers no requests while it loads. Set() and bytes() are
// thread-safe.
class LoadProgress {
 public:
  // `socket`: the path of the daemon's socket.
  LoadProgress(std::string server_name, const std::string& socket);
  ~LoadProgress();
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  // Sets the number of bytes that are in memory, and the number of all bytes that will be loaded.
  void Set(uint64_t done, uint64_t total) noexcept;
  // Returns the two numbers that were set last.
  std::pair<uint64_t, uint64_t> bytes() const noexcept { return {done_, total_}; }
  // Reports the present state, if it differs from what was reported last. One thread calls it,
  // every kTellMilliseconds.
  void Tell();
  static constexpr int64_t kTellMilliseconds = 250;

 private:
  const std::string server_name_, path_;
  std::atomic<uint64_t> done_{0}, total_{0};
  std::optional<std::pair<uint64_t, uint64_t>> told_;
};

}  // namespace graphd
