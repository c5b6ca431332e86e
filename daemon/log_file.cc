// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace graphd {

UniqueFd OpenLogFile(const std::string& path) {
  return OpenFile(path, O_WRONLY | O_CREAT | O_APPEND);
}

UniqueFd LogToFile(const std::string& path) {
  if (path.empty()) return {};
  UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  const UniqueFd fd = OpenLogFile(path);
  if (::dup2(fd.get(), STDERR_FILENO) < 0) ThrowErrno("can't log to", path);
  return before;
}

}  // namespace graphd
