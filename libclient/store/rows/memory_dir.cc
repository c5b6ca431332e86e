// SPDX-License-Identifier: Apache-2.0
#include "store/rows/memory_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/memory_limit.h"
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

uint64_t SpareMemory(int fd) {
  const auto beyond = [](uint64_t available, uint64_t total) {
    return available - std::min(available, total / 8);
  };
  uint64_t room = beyond(AvailableMemory().bytes, TotalMemory());
  struct statvfs status {};
  // A memfd is in a tmpfs without limit, which has no blocks.
  if (fd >= 0 && ::fstatvfs(fd, &status) == 0 && status.f_blocks != 0) {
    room = std::min<uint64_t>(
        room, beyond(status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize));
  }
  return room;
}

}  // namespace graphd::store
