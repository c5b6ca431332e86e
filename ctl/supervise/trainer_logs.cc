// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/trainer_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/directory.h"
#include "base/strings.h"

namespace graphd::ctl {

TrainerLogs::TrainerLogs(std::string directory, uint64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes) {
  MakeDirectories(directory_);
}

std::string TrainerLogs::PathOf(int rank) const {
  return StrCat(directory_, "/trainer-", rank, ".log");
}

// Only this user may read what a trainer prints. A file of an earlier job with the same directory
// is continued.
void TrainerLogs::Open(int rank, Log& log) const {
  const std::string path = PathOf(rank);
  log.fd = OpenOwnFile(path, O_WRONLY | O_CREAT | O_APPEND);
  log.bytes = FileSize(path);
}

std::string TrainerLogs::Append(int rank, std::string_view lines) {
  Log& log = logs_[rank];
  try {
    if (!log.fd) Open(rank, log);
    if (log.bytes != 0 && log.bytes + lines.size() > max_bytes_) {
      RenameFile(PathOf(rank), PathOf(rank) + ".1");
      Open(rank, log);
    }
    WriteExactly(log.fd.get(), std::as_bytes(std::span(lines)), PathOf(rank));
    log.bytes += lines.size();
    log.failed = false;
    return {};
  } catch (const Error& error) {
    log.fd.reset();
    return std::exchange(log.failed, true) ? "" : error.what();
  }
}

}  // namespace graphd::ctl
