// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

namespace graphd::testing {

constexpr uid_t kNobody = 65534;

// Makes only the calling thread, which belongs to root, belong to another user; the functions of
// glibc would change all threads of the process. Returns false if that fails.
inline bool BecomeUser(uid_t user) {
  return ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
         ::syscall(SYS_setresgid, user, user, user) == 0 &&
         ::syscall(SYS_setresuid, user, user, user) == 0;
}

}  // namespace graphd::testing
