// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

// Functions for paths below a workspace that come from an option or from another machine. They have
// no side effects.

namespace graphd::ctl {

// Returns the components of `path`: {"data", "part0", "graph.seg"}. Empty and "." components are
// omitted. Throws Error(kInvalid) naming `what` if the path is absolute, contains ".." or a NUL
// byte, or is longer than a path may be.
std::vector<std::string> PathSteps(const std::string& path, const std::string& what);

// Returns the path with its components joined again: "./data//x/" becomes "data/x", "." becomes "".
std::string CleanRelativePath(const std::string& path, const std::string& what);

// Returns the name that a file has until a copy has received all of it.
std::string PartialName(const std::string& name);

// Returns the text after the last '/', ignoring slashes at the end.
std::string BaseName(const std::string& path);

}  // namespace graphd::ctl
