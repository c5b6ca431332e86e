// SPDX-License-Identifier: Apache-2.0
#include "store/rows/memory_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/strings.h"

namespace graphd::store {
namespace {

std::string MountPointOf(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::weakly_canonical(path, error);
  struct stat inner {
  }, outer{};
  while (at.has_relative_path()) {
    if (::stat(at.c_str(), &inner) == 0 && ::stat(at.parent_path().c_str(), &outer) == 0 &&
        inner.st_dev != outer.st_dev) {
      return at;
    }
    at = at.parent_path();
  }
  return at;
}

}  // namespace

std::string FullMemoryDir(const std::string& path) {
  const std::string mount = MountPointOf(path);
  struct statvfs status {};
  const bool known = ::statvfs(mount.c_str(), &status) == 0;
  return StrCat(mount, " is full",
                known ? " (" + HumanBytes(status.f_blocks * status.f_frsize) + ")" : "",
                "; enlarge it (mount -o remount,size=... ", mount,
                "), choose a larger tmpfs (--memory_dir), or bound what tables take "
                "(--embedding_memory)");
}

void AllocateFile(int fd, uint64_t offset, uint64_t bytes, const std::string& path,
                  const std::string& what) {
  if (bytes == 0) return;
  int error = 0;
  do {
    error = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return;
  Throw(ErrorCode::kOverloaded, what, ": ",
        error == ENOSPC && !path.empty() ? FullMemoryDir(path) : std::strerror(error));
}

}  // namespace graphd::store
