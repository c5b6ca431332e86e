// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <optional>

namespace graphd {

// Returns the user who owns the other end of a TCP connection, if that end is on this machine and
// in the same network namespace; else nothing. The answer comes from the kernel (sock_diag(7)), so
// a peer can't pretend to be somebody else.
std::optional<uid_t> LocalTcpUser(int fd);

}  // namespace graphd
