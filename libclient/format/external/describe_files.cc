// SPDX-License-Identifier: Apache-2.0
#include "format/external/describe_files.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "format/external/run_state.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kWildcards = "*?[";

bool IsPartName(const std::string& name) {
  return name.starts_with("part") && name.size() > 4 &&
         std::all_of(name.begin() + 4, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The walk over all files below a directory.
class Walk {
 public:
  explicit Walk(const WrittenFiles& written) : written_(written) {}

  void Directory(const fs::path& directory) {
    struct stat info {};
    if (::stat(directory.c_str(), &info) != 0) ThrowErrno("can't stat", directory.string());
    const std::pair<dev_t, ino_t> id(info.st_dev, info.st_ino);
    // A link may lead back to a directory above it.
    if (std::find(above_.begin(), above_.end(), id) != above_.end()) return;
    std::error_code ignored;
    const bool output =
        !written_.directory.empty() && fs::equivalent(directory, written_.directory, ignored);
    if (output && !above_.empty()) return;
    above_.push_back(id);
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (output && IsWritten(entry.path().filename().string())) continue;
      if (entry.is_directory(ignored)) {
        Directory(entry.path());
      } else if (entry.is_regular_file(ignored)) {
        files_.push_back(entry.path().string());
      }
    }
    above_.pop_back();
  }
  std::vector<std::string> TakeFiles() { return std::move(files_); }

 private:
  // Returns whether the run writes a file or directory of this name to its output.
  bool IsWritten(const std::string& name) const {
    return IsPartName(name) || name.ends_with(kStateEnding) ||
           name.starts_with(written_.graph_name + ".json") ||
           (name.starts_with(written_.graph_name + ".") && name.find(".txt.gz") != name.npos);
  }

  const WrittenFiles& written_;
  std::vector<std::pair<dev_t, ino_t>> above_;  // the directories that are being walked
  std::vector<std::string> files_;
};

// Returns the files that match a pattern, searching below the directory that the pattern names
// before its first wildcard. "*" matches slashes, too: it is better to note too many files than to
// overlook one.
std::vector<std::string> Matches(std::string pattern, const WrittenFiles& written) {
  if (pattern[0] != '/') pattern = "./" + pattern;
  const size_t slash = pattern.rfind('/', pattern.find_first_of(kWildcards));
  Walk walk(written);
  const std::string base = pattern.substr(0, slash + 1);
  std::error_code ignored;
  if (!fs::is_directory(base, ignored)) return {};
  walk.Directory(base);
  for (size_t at; (at = pattern.find("**/")) != pattern.npos;) pattern.replace(at, 3, "*");
  const std::string below = pattern + "/*";
  std::vector<std::string> files = walk.TakeFiles();
  std::erase_if(files, [&](const std::string& file) {
    return ::fnmatch(pattern.c_str(), file.c_str(), FNM_NOESCAPE) != 0 &&
           ::fnmatch(below.c_str(), file.c_str(), FNM_NOESCAPE) != 0;
  });
  return files;
}

}  // namespace

ordered_json DescribeFiles(const std::string& path, const WrittenFiles& written) {
  std::vector<std::string> files;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    Walk walk(written);
    walk.Directory(path);
    files = walk.TakeFiles();
  } else if (FileExists(path)) {
    files.push_back(path);
  } else if (path.find_first_of(kWildcards) != path.npos) {
    files = Matches(path, written);
  }
  std::sort(files.begin(), files.end());
  ordered_json list = ordered_json::array();
  for (const std::string& file : files) {
    const std::string whole = fs::absolute(file).string();
    if (!IsUtf8(whole)) {
      const auto replace = ordered_json::error_handler_t::replace;
      Throw(ErrorCode::kInvalid, "the path ", ordered_json(whole).dump(-1, ' ', false, replace),
            " is not UTF-8, but --memory requires UTF-8; rename it");
    }
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) ThrowErrno("can't stat", file);
    list.push_back(
        {whole, info.st_size, int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
  }
  return list;
}

}  // namespace graphd
