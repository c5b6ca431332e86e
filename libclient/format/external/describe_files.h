// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace graphd {

// The output of a run: it writes the files of this graph into this directory.
struct WrittenFiles {
  std::string directory, graph_name;
};

// Returns the path, size and modification time of each file that `path` names: a file, all files
// below a directory, or all files that match a pattern of Python's glob or are below a directory
// that matches it. Returns an empty list if there are none. Follows links. Leaves out the files in
// `written`, unless `path` is one of them. Throws Error(kInvalid) for a path that is not UTF-8.
nlohmann::ordered_json DescribeFiles(const std::string& path, const WrittenFiles& written = {});

}  // namespace graphd
