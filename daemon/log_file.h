// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/file.h"

namespace graphd {

// Opens a file to which the daemon's log is appended, and makes it if needed. Throws Error(kIo).
UniqueFd OpenLogFile(const std::string& path);

// Lets standard error be that file, if `path` is not empty. Returns what it was before.
UniqueFd LogToFile(const std::string& path);

}  // namespace graphd
