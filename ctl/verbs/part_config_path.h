// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd::ctl {

// The part config that `path` names: itself, or the one .json file of a directory. Throws
// Error(kNotFound) if there is none, Error(kInvalid) naming them if there are several.
std::string FindPartConfig(const std::string& path);

}  // namespace graphd::ctl
