// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace graphd {

// The files that a run writes itself: those of a graph in a directory.
struct WrittenFiles {
  std::string directory, graph_name;
};

// Returns the path, size and time of change of a file, of all files below a directory, or of those
// that match a pattern of Python's glob or are below a directory that does; an empty list if
// nothing is there. Follows links. Leaves out what the run writes itself, if it is below the
// directory. Throws Error(kInvalid) for a path that is not UTF-8.
nlohmann::ordered_json DescribeFiles(const std::string& path, const WrittenFiles& written = {});

}  // namespace graphd
