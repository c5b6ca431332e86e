// SPDX-License-Identifier: Apache-2.0
#include "wire/trusted_users.h"

#include <pwd.h>
#include <sys/socket.h>
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

}  // namespace

void CheckListener(int fd, const std::string& path) {
  // For a connected socket the kernel reports the process that called listen.
  ucred listener{};
  socklen_t length = sizeof listener;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) {
    ThrowErrno("can't see who listens on", path);
  }
  if (listener.uid == 0 || listener.uid == ::geteuid() || IsUser(listener.uid, kServiceUser)) {
    return;
  }
  const char* const named = std::getenv("GRAPHD_SERVER_USER");
  if (named != nullptr && (IsUser(listener.uid, named) || StrCat(listener.uid) == named)) return;
  Throw(ErrorCode::kDenied, "the graphd at ", path, " belongs to user ", listener.uid,
        ", who is neither root, nor you, nor the user graphd; if you trust that user, set ",
        "GRAPHD_SERVER_USER=", listener.uid);
}

}  // namespace graphd
