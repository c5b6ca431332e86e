// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// Throws Error(kDenied), with the remedy, unless the user of the process that listens on a
// connected Unix socket is root, this process's user, the user `graphd` of the system's service, or
// the user that $GRAPHD_SERVER_USER names. A daemon of anybody else could give wrong answers, and
// would learn the job's secret. `path` is the socket's, for the error.
void CheckListener(int fd, const std::string& path);

}  // namespace graphd
