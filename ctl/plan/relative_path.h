// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

// Paths below a workspace that come from an option or from another machine. Pure functions.

namespace graphd::ctl {

// The names that `path` leads through: {"data", "part0", "graph.seg"}. Empty and "." steps are left
// out. Throws Error(kInvalid) naming `what` if it is absolute, has a ".." or a NUL, or is longer
// than a path may be.
std::vector<std::string> PathSteps(const std::string& path, const std::string& what);

// The same joined again: "./data//x/" becomes "data/x", "." becomes "".
std::string CleanRelativePath(const std::string& path, const std::string& what);

// The name of a file while a copy has not brought the whole of it.
std::string PartialName(const std::string& name);

// What stands after the last '/', a slash at the end aside.
std::string BaseName(const std::string& path);

}  // namespace graphd::ctl
