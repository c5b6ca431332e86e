// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/file.h"

namespace graphd {

// Opens a file to which the daemon's log is appended, and makes it if needed. Throws Error(kIo).
UniqueFd OpenLogFile(const std::string& path);

// Redirects standard error to that file and returns the previous standard error. If `path` is
// empty, does nothing and returns an empty descriptor.
UniqueFd LogToFile(const std::string& path);

}  // namespace graphd
