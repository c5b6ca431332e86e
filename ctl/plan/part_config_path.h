// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd::ctl {

// Returns the part config that `path` refers to: the path itself, or the only .json file of a
// directory. Throws Error(kNotFound) if the directory has no .json file, and Error(kInvalid), which
// names the files, if it has several.
std::string FindPartConfig(const std::string& path);

}  // namespace graphd::ctl
