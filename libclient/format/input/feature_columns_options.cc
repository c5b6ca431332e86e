// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/strings.h"
#include "format/input/graph_files.h"

namespace graphd {
namespace {

// Returns a path without "./", doubled slashes and a slash at its end, so that different ways to
// write it are equal.
std::string Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(Normal(path)).filename().string();
}

// Adds --feat_cols options one by one; see ParseFeatureColumns.
class FeatureColumnsOptions {
 public:
  explicit FeatureColumnsOptions(GraphFilesOptions& options) : options_(options) {
    for (const EdgeFile& file : options.edges) {
      const std::string type = file.type.ToString();
      types_.insert({type, file.type.src, file.type.dst});
      files_.push_back({file.path, type, file.feature});
    }
    for (const NodeFile& file : options.nodes) {
      types_.insert(file.type);
      files_.push_back({file.path, file.type, file.feature});
    }
  }

  void Add(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals != text.npos && types_.contains(text.substr(0, equals))) {
      const std::string type = text.substr(0, equals);
      AddList(text, equals + 1, options_.feature_columns_of[type], type);
      return;
    }
    // Try the last "=" first, because folders of a path may be named key=value.
    for (size_t end = text.rfind('='); end != text.npos && end > 0;
         end = text.rfind('=', end - 1)) {
      const std::set<std::string> paths = PathsOf(text.substr(0, end));
      if (paths.empty()) continue;
      if (paths.size() > 1) {
        Throw(ErrorCode::kInvalid, "--feat_cols ", text,
              ": several files have this name: ", Join({paths.begin(), paths.end()}, ", "),
              "; give the path of one");
      }
      const std::string& path = *paths.begin();
      CheckIsTable(text, path);
      AddList(text, end + 1, options_.feature_columns_in[path], path);
      return;
    }
    if (!options_.feature_columns) options_.feature_columns.emplace();
    AddList(text, 0, *options_.feature_columns, "all tables");
  }

  // Throws if columns are listed both for a type and for a file of this type, because the user may
  // mean that the file's columns are added to the type's columns or that they replace them.
  void CheckTypesAndFiles() const {
    for (const File& file : files_) {
      if (!options_.feature_columns_in.contains(file.path)) continue;
      if (!options_.feature_columns_of.contains(file.type)) continue;
      Throw(ErrorCode::kInvalid, "--feat_cols: columns are listed both for ", file.path,
            " and for ", file.type,
            ", the type of that file; list those of the type, or those of each of its files");
    }
  }

 private:
  struct File {
    std::string path, type, feature;
  };

  // Returns the paths of the input's files that a user may mean by `text`: the file with this path
  // or, if there is none, all files with this name.
  std::set<std::string> PathsOf(const std::string& text) const {
    std::set<std::string> equal, named;
    for (const File& file : files_) {
      if (Normal(file.path) == Normal(text)) equal.insert(file.path);
      if (NameOf(file.path) == text) named.insert(file.path);
    }
    return equal.empty() ? named : equal;
  }

  void CheckIsTable(const std::string& text, const std::string& path) const {
    for (const File& file : files_) {
      if (file.path != path || file.feature.empty()) continue;
      Throw(ErrorCode::kInvalid, "--feat_cols ", text, ": ", path,
            " is an array, all of which is the feature '", file.feature, "' of ", file.type,
            "; omit the option");
    }
  }

  // Adds the list of columns that begins at position `begin` of an option to `columns`, the list of
  // `subject`.
  void AddList(const std::string& text, size_t begin, std::vector<std::string>& columns,
               const std::string& subject) {
    const std::string_view list = std::string_view(text).substr(begin);
    if (list == "none") none_.insert(subject);
    for (std::string& name : list == "none" ? std::vector<std::string>{} : Split(list, ',')) {
      if (name.empty()) continue;
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
        Throw(ErrorCode::kInvalid, "--feat_cols ", text, ": '", name, "' is listed twice for ",
              subject, "; omit one");
      }
      columns.push_back(std::move(name));
    }
    if (!columns.empty() && none_.contains(subject)) {
      Throw(ErrorCode::kInvalid, "--feat_cols: both 'none' and column '", columns[0],
            "' are given for ", subject, "; give only one of them");
    }
  }

  GraphFilesOptions& options_;
  std::set<std::string> types_;
  std::vector<File> files_;
  std::set<std::string> none_;  // types and files with the list "none"
};

}  // namespace

void ParseFeatureColumns(const std::vector<std::string>& texts, GraphFilesOptions& options) {
  FeatureColumnsOptions lists(options);
  for (const std::string& text : texts) lists.Add(text);
  lists.CheckTypesAndFiles();
}

}  // namespace graphd
