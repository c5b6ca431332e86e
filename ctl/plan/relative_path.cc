// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/relative_path.h"

#include <limits.h>

#include "base/strings.h"

namespace graphd::ctl {

std::vector<std::string> PathSteps(const std::string& path, const std::string& what) {
  const auto refuse = [&](const char* why) {
    Throw(ErrorCode::kInvalid, what, " '", path.substr(0, 256), "' ", why,
          "; write a path relative to the workspace that stays in it");
  };
  if (path.size() >= PATH_MAX) refuse("is too long");
  if (path.find('\0') != std::string::npos) refuse("has a zero byte");
  if (!path.empty() && path[0] == '/') refuse("is absolute");
  std::vector<std::string> steps;
  for (std::string& step : Split(path, '/')) {
    if (step == "..") refuse("contains '..'");
    if (step.size() > NAME_MAX) refuse("has a name that is too long");
    if (!step.empty() && step != ".") steps.push_back(std::move(step));
  }
  return steps;
}

std::string CleanRelativePath(const std::string& path, const std::string& what) {
  return Join(PathSteps(path, what), "/");
}

std::string PartialName(const std::string& name) { return "." + name + ".partial"; }

std::string BaseName(const std::string& path) {
  const size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return "";
  const size_t slash = path.rfind('/', last);
  const size_t first = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(first, last + 1 - first);
}

}  // namespace graphd::ctl
