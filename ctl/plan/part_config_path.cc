// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/part_config_path.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/strings.h"

namespace graphd::ctl {

std::string FindPartConfig(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error)) {
    Throw(ErrorCode::kNotFound, path, " does not exist; give the part config of a graph, ",
          "<graph_name>.json, or the directory that contains it");
  }
  if (!fs::is_directory(path)) return path;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    Throw(ErrorCode::kNotFound, path, " has no part config; expected <graph_name>.json in it");
  }
  if (found.size() > 1) {
    Throw(ErrorCode::kInvalid, path, " has several .json files; name one of ", Join(found, ", "));
  }
  return found[0];
}

}  // namespace graphd::ctl
