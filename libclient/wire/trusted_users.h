// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// Functions that check whether the users who can serve clients of this machine are trusted: root,
// this process's user, the user `graphd` of the system's service, and the user that
// $GRAPHD_SERVER_USER names. A daemon of anybody else could give wrong answers, and would learn the
// job's secret. Both functions throw Error(kDenied) with the remedy.

// Checks who can put a socket into the directory of the socket `path`. Throws if a user who is not
// trusted owns the directory, or if all users may replace its sockets: they may write to it, and it
// has no sticky bit. A group that may write to it is trusted. Does nothing if there is no
// directory.
void CheckSocketDirectory(const std::string& path);
// Checks the user of the process that listens on the other end of a connected Unix socket. `path`
// is the socket's path, for the error.
void CheckListener(int fd, const std::string& path);

}  // namespace graphd
