// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/file.h"

namespace graphd::ctl {

// The files with the output of one host's trainers, which remain when the launcher's terminal is
// closed. Each trainer has trainer-RANK.log in a directory. When more lines would exceed the
// maximum size of that file, it is renamed to trainer-RANK.log.1, in place of an earlier one, and a
// new file is begun. Not thread-safe.
class TrainerLogs {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

  // Creates the directory. `max_bytes` is for tests. Throws Error(kIo) or Error(kDenied).
  explicit TrainerLogs(std::string directory, uint64_t max_bytes = kMaxBytes);

  // Appends whole lines to the trainer's file. If the file can't be written, the lines are lost,
  // and the next call tries again. Returns the reason for the first lines that are lost after the
  // file could last be written, and otherwise an empty text.
  std::string Append(int rank, std::string_view lines);

 private:
  struct Log {
    UniqueFd fd;
    uint64_t bytes = 0;
    bool failed = false;  // the last call lost lines
  };
  void Open(int rank, Log& log) const;
  std::string PathOf(int rank) const;

  const std::string directory_;
  const uint64_t max_bytes_;
  std::map<int, Log> logs_;
};

}  // namespace graphd::ctl
