// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"

namespace graphd::testing {

// Returns the contents of all files below a directory by their paths relative to it.
inline std::map<std::string, std::string> FilesBelow(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[std::filesystem::relative(entry.path(), directory).string()] =
        ReadTextFile(entry.path().string());
  }
  return files;
}

}  // namespace graphd::testing
