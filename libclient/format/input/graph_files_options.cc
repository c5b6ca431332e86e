// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "format/input/graph_files.h"

namespace graphd {
namespace {

// Checks a type's name, which becomes part of file names and of DGL's keys.
void CheckTypeName(const std::string& name, const char* option, const std::string& text) {
  const bool good = !name.empty() && name.size() <= 100 && name[0] != '.' &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return static_cast<unsigned char>(c) > ' ' && c != '/' && c != ':' &&
                             c != '~' && c != '\x7f';
                    });
  if (good) return;
  Throw(ErrorCode::kInvalid, option, " ", text, ": '", name,
        "' is not a valid type name, expected 1 to ",
        "100 characters without blanks and /:~ that don't begin with '.'");
}

void CheckFeatureName(const std::string& name, const char* option, const std::string& text) {
  if (!name.empty() && name.find_first_of("/:~ ") == name.npos) return;
  Throw(ErrorCode::kInvalid, option, " ", text, ": '", name,
        "' is not a valid feature name, expected ", "characters without blanks and /:~");
}

// Splits "key=FILE" into key and file; the key of "FILE" is "".
std::pair<std::string, std::string> CutKey(const char* option, const std::string& text) {
  const size_t equals = text.find('=');
  const bool keyed = equals != text.npos && text.find('/') > equals;
  std::pair<std::string, std::string> cut;
  if (keyed) cut.first = text.substr(0, equals);
  cut.second = keyed ? text.substr(equals + 1) : text;
  if (cut.second.empty() || (keyed && cut.first.empty())) {
    Throw(ErrorCode::kInvalid, option, " '", text, "': expected TYPE=FILE or FILE");
  }
  return cut;
}

// Removes ".feature" from the key and returns the feature.
std::string CutFeature(std::string& key, const char* option, const std::string& text) {
  const size_t dot = key.rfind('.');
  if (dot == key.npos || key.find(':', dot) != key.npos) return "";
  std::string feature = key.substr(dot + 1);
  key.resize(dot);
  CheckFeatureName(feature, option, text);
  return feature;
}

}  // namespace

EdgeFile ParseEdgeFile(const std::string& option) {
  auto [key, path] = CutKey("--edges", option);
  EdgeFile file;
  file.feature = CutFeature(key, "--edges", option);
  if (key.empty()) key = "_N:_E:_N";
  const std::vector<std::string> names = Split(key, ':');
  if (names.size() != 3) {
    Throw(ErrorCode::kInvalid, "--edges ", option, ": '", key, "' is not an edge type, expected ",
          "src:rel:dst, as in user:follows:user=FILE");
  }
  for (const std::string& name : names) CheckTypeName(name, "--edges", option);
  file.type = {names[0], names[1], names[2]};
  const size_t comma = path.find(',');
  if (comma != path.npos && !FileExists(path)) {
    file.dst_path = path.substr(comma + 1);
    path.resize(comma);
  }
  file.path = path;
  return file;
}

NodeFile ParseNodeFile(const std::string& option) {
  auto [key, path] = CutKey("--nodes", option);
  NodeFile file;
  file.feature = CutFeature(key, "--nodes", option);
  file.type = key.empty() ? "_N" : key;
  file.path = path;
  CheckTypeName(file.type, "--nodes", option);
  return file;
}

std::pair<std::string, int64_t> ParseNodeCount(const std::string& option) {
  const size_t equals = option.rfind('=');
  const std::string type = equals == option.npos ? "_N" : option.substr(0, equals);
  CheckTypeName(type, "--num_nodes", option);
  const size_t digits = equals == option.npos ? 0 : equals + 1;
  return {type, ParseInt(std::string_view(option).substr(digits), "--num_nodes " + type, 0,
                         int64_t{1} << 40)};
}

}  // namespace graphd
