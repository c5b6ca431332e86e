// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/workspace.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/plan/relative_path.h"

namespace graphd::ctl {
namespace {

constexpr int kLockPause = 20;  // milliseconds between two attempts

[[noreturn]] void RefuseLink(const std::string& shown) {
  Throw(ErrorCode::kDenied, shown,
        " is a symbolic link, and a copy does not follow links inside the workspace; remove it, or "
        "give its target as --workspace");
}

UniqueFd Duplicate(const UniqueFd& fd) {
  UniqueFd copy(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) ThrowErrno("can't duplicate", "a descriptor");
  return copy;
}

// Opens the next directory on the path to a file. Returns no descriptor if the directory does not
// exist and `make` is false.
UniqueFd Enter(int directory, const std::string& name, const std::string& shown, bool make) {
  if (make && ::mkdirat(directory, name.c_str(), 0777) != 0 && errno != EEXIST) {
    ThrowErrno("can't create directory", shown);
  }
  UniqueFd next(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (next) return next;
  if (errno == ENOENT && !make) return {};
  const int error = errno;
  struct stat info {};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(info.st_mode)) RefuseLink(shown);
    if (!S_ISDIR(info.st_mode)) {
      Throw(ErrorCode::kExists, shown, " is not a directory; move it out of the way");
    }
  }
  errno = error;
  ThrowErrno("can't open directory", shown);
}

}  // namespace

Workspace::Workspace(const std::string& path, double seconds) : path_(path) {
  if (path.empty() || path[0] != '/') {
    Throw(ErrorCode::kInvalid, "workspace '", path, "' is not an absolute path");
  }
  MakeDirectories(path);
  root_ = OpenFile(path, O_RDONLY | O_DIRECTORY);
  Lock(seconds);
}

void Workspace::Lock(double seconds) {
  const Clock::time_point start = Clock::now();
  while (::flock(root_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) ThrowErrno("can't lock", path_);
    if (SecondsSince(start) > seconds) {
      Throw(ErrorCode::kExists, path_,
            ": another graphctl copy writes there; wait until it ends, and if ip_config lists this "
            "machine under two names, use only one");
    }
    ::poll(nullptr, 0, kLockPause);
  }
}

Workspace::Place Workspace::Find(const std::string& target, bool make_directories) {
  std::vector<std::string> steps = PathSteps(target, "path");
  if (steps.empty()) Throw(ErrorCode::kInvalid, "path '", target, "' does not name a file");
  Place place;
  place.name = steps.back();
  place.shown = path_ + "/" + Join(steps, "/");
  steps.pop_back();
  if (steps.empty()) {
    place.directory = Duplicate(root_);
    return place;
  }
  if (!last_ || steps != steps_) {
    last_.reset();
    std::string shown = path_;
    UniqueFd directory;
    for (const std::string& step : steps) {
      shown += "/" + step;
      directory = Enter(directory ? directory.get() : root_.get(), step, shown, make_directories);
      if (!directory) return place;
    }
    last_ = std::move(directory);
    steps_ = std::move(steps);
  }
  place.directory = Duplicate(last_);
  return place;
}

Workspace::Room Workspace::RoomFor(const std::string& target) {
  // Find the innermost directory that already exists.
  std::vector<std::string> steps = PathSteps(target, "path");
  UniqueFd directory;
  while (!directory) {
    directory = steps.empty() ? Duplicate(root_) : Find(Join(steps, "/"), false).directory;
    if (!steps.empty()) steps.pop_back();
  }
  struct statvfs system {};
  struct stat info {};
  if (::fstatvfs(directory.get(), &system) != 0 || ::fstat(directory.get(), &info) != 0) {
    ThrowErrno("can't determine the free space of", path_);
  }
  const auto blocks = ::geteuid() == 0 ? system.f_bfree : system.f_bavail;
  return {info.st_dev, static_cast<uint64_t>(blocks) * system.f_frsize};
}

std::optional<struct stat> StatFile(const Workspace::Place& place, const std::string& name) {
  struct stat info {};
  const std::string shown = DirName(place.shown) + "/" + name;
  if (!place.directory) return std::nullopt;
  if (::fstatat(place.directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    ThrowErrno("can't stat", shown);
  }
  if (S_ISLNK(info.st_mode)) RefuseLink(shown);
  if (!S_ISREG(info.st_mode)) {
    Throw(ErrorCode::kExists, shown, " is not a regular file; move it out of the way");
  }
  return info;
}

}  // namespace graphd::ctl
