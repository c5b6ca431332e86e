// SPDX-License-Identifier: Apache-2.0
#include "base/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void ThrowCode(const std::error_code& code, const char* what,
                            const std::string& path) {
  errno = code.value();
  ThrowErrno(what, path);
}

// Throws unless only this process's user can change the open file.
void CheckOwn(int fd, const std::string& path, bool is_directory) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowErrno("can't stat", path);
  if (is_directory ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode)) {
    Throw(ErrorCode::kDenied, path, " is not a ", is_directory ? "directory" : "regular file");
  }
  if (info.st_uid != ::geteuid()) {
    Throw(ErrorCode::kDenied, path, " belongs to user ", info.st_uid,
          " and not to this process's user, ", ::geteuid());
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    Throw(ErrorCode::kDenied, path, " can be written by other users");
  }
}

UniqueFd OpenOwn(const std::string& path, int flags, unsigned mode, bool is_directory) {
  UniqueFd fd;
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for its writer.
    fd = OpenFile(path, flags | O_NOFOLLOW | O_NONBLOCK | (is_directory ? O_DIRECTORY : 0), mode);
  } catch (const Error&) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
      Throw(ErrorCode::kDenied, path, " is a link");
    }
    throw;
  }
  CheckOwn(fd.get(), path, is_directory);
  return fd;
}

// Returns the names in a directory, sorted, up to an error. Uses increment(), because the ++ of a
// range-based loop would throw the error.
std::vector<std::string> ListUntil(std::error_code& error, const std::string& path) {
  std::vector<std::string> names;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string DefaultStateDir() {
  if (const char* given = std::getenv("GRAPHD_STATE_DIR"); given && *given) return given;
  if (::geteuid() == 0 || ::access("/var/lib/graphd", W_OK) == 0) return "/var/lib/graphd";
  if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg && *xdg) return StrCat(xdg, "/graphd");
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    Throw(ErrorCode::kInvalid, "there is no directory for tensors, because HOME is not set: set ",
          "GRAPHD_STATE_DIR, or give --state_dir");
  }
  return StrCat(home, "/.local/state/graphd");
}

std::vector<std::string> ListDirectory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names = ListUntil(error, path);
  if (error) ThrowCode(error, "can't list", path);
  return names;
}

std::vector<std::string> ListReadable(const std::string& path) {
  std::error_code ignored;
  return ListUntil(ignored, path);
}

std::vector<std::string> ListFilesBelow(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(path, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const bool is_file = it->is_regular_file(error);
    if (error) break;
    if (is_file) files.push_back(it->path());
  }
  if (error) ThrowCode(error, "can't list", path);
  std::sort(files.begin(), files.end());
  return files;
}

void RenameFile(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) ThrowErrno("can't rename to " + to + " from", from);
}

void RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) ThrowErrno("can't remove", path);
}

void RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) ThrowCode(error, "can't remove", path);
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) ThrowCode(error, "can't tell where this is", path);
  return absolute.lexically_normal();
}

std::string CanonicalPath(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  if (error) ThrowCode(error, "can't find", path);
  return canonical;
}

UniqueFd OpenOwnFile(const std::string& path, int flags, unsigned mode) {
  return OpenOwn(path, flags, mode, /*is_directory=*/false);
}

UniqueFd OpenOwnDirectory(const std::string& path) {
  return OpenOwn(path, O_RDONLY, 0, /*is_directory=*/true);
}

std::string WhatHappenedTo(int fd, const std::string& path, std::optional<uint64_t> bytes) {
  struct stat open {
  }, named{};
  if (::fstat(fd, &open) != 0) return path + " can't be examined";
  if (open.st_nlink == 0) return path + " was removed";
  if (::lstat(path.c_str(), &named) != 0) {
    return StrCat(path, errno == ENOENT || errno == ENOTDIR ? " was removed or renamed"
                                                            : " can't be reached any more");
  }
  if (named.st_dev != open.st_dev || named.st_ino != open.st_ino) {
    return path + " was replaced by another one";
  }
  if (bytes && static_cast<uint64_t>(open.st_size) != *bytes) {
    return StrCat(path, " was changed to ", open.st_size, " bytes from ", *bytes);
  }
  return {};
}

}  // namespace graphd
