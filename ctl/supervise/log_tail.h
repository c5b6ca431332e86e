// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file.h"

namespace graphd::ctl {

// A reader of the log of a trainer (TrainerLogs), which follows the log while it grows and when it
// is renamed. Not thread-safe.
class LogTail {
 public:
  // Begins with the last `lines` lines of the log, or with all lines if `lines` is negative. The
  // log need not exist yet.
  LogTail(std::string path, int64_t lines);

  // Returns the next whole lines, at most about 256 KiB; an empty text if there are none now. With
  // `to_the_end`, at the end of a job, also returns a last line without a newline, and adds the
  // newline.
  std::string Next(bool to_the_end = false);

 private:
  bool Open(const std::string& path, uint64_t begin);
  bool WasRenamed() const;
  size_t ReadSome();

  const std::string path_;
  UniqueFd fd_;
  uint64_t position_ = 0;
  std::string pending_;  // text that was read but not returned yet
};

}  // namespace graphd::ctl
