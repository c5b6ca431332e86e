// SPDX-License-Identifier: Apache-2.0
#include "wire/trusted_users.h"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr const char* kServiceUser = "graphd";  // packaging/systemd/graphd.sysusers

bool IsUser(uid_t uid, const char* name) {
  passwd user{}, *found = nullptr;
  std::vector<char> text(16384);
  return ::getpwnam_r(name, &user, text.data(), text.size(), &found) == 0 && found != nullptr &&
         user.pw_uid == uid;
}

bool IsTrusted(uid_t uid) {
  if (uid == 0 || uid == ::geteuid() || IsUser(uid, kServiceUser)) return true;
  const char* const named = std::getenv("GRAPHD_SERVER_USER");
  return named != nullptr && (IsUser(uid, named) || StrCat(uid) == named);
}

[[noreturn]] void ThrowDenied(const std::string& what, uid_t owner) {
  Throw(ErrorCode::kDenied, what, " belongs to user ", owner,
        ", who is neither root, nor you, nor the user graphd; if you trust that user, set ",
        "GRAPHD_SERVER_USER=", owner);
}

}  // namespace

void CheckSocketDirectory(const std::string& path) {
  const std::string directory = DirName(path);
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return;  // connecting to the socket says why
  if (!IsTrusted(info.st_uid)) ThrowDenied(StrCat("the directory ", directory), info.st_uid);
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
    Throw(ErrorCode::kDenied, "every user can replace the sockets in ", directory,
          "; remove that permission: chmod o-w ", directory);
  }
}

void CheckListener(int fd, const std::string& path) {
  // For a connected socket, the kernel reports the process that has called listen.
  ucred listener{};
  socklen_t length = sizeof listener;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) {
    ThrowErrno("can't see who listens on", path);
  }
  if (!IsTrusted(listener.uid)) ThrowDenied(StrCat("the graphd at ", path), listener.uid);
}

}  // namespace graphd
