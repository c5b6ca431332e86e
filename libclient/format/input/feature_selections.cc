// SPDX-License-Identifier: Apache-2.0
#include "format/input/feature_selections.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

FeatureSelections::FeatureSelections(const GraphFilesOptions& options)
    : all_{FeatureSelection(options.feature_columns)} {
  for (const auto& [type, columns] : options.feature_columns_of) {
    of_type_.emplace(type, List{FeatureSelection(columns)});
  }
  for (const auto& [path, columns] : options.feature_columns_in) {
    of_file_.emplace(path, List{FeatureSelection(columns)});
  }
}

FeatureSelections::List& FeatureSelections::ListOf(const std::string& type,
                                                   const std::string& path) {
  if (const auto file = of_file_.find(path); file != of_file_.end()) return file->second;
  const auto found = of_type_.find(type);
  return found == of_type_.end() ? all_ : found->second;
}

const FeatureSelection& FeatureSelections::Of(const std::string& type, const std::string& path) {
  return ListOf(type, path).selection;
}

std::vector<std::string> FeatureSelections::NamesFor(const std::string& path) const {
  std::vector<std::string> names;
  const auto add = [&](const List& list) {
    const auto& wanted = list.selection.wanted();
    if (wanted) names.insert(names.end(), wanted->begin(), wanted->end());
  };
  add(all_);
  for (const auto& [type, list] : of_type_) add(list);
  if (const auto file = of_file_.find(path); file != of_file_.end()) add(file->second);
  return names;
}

void FeatureSelections::AddTable(const std::string& type, const std::string& path,
                                 const TableFormat& format, const std::vector<size_t>& ids) {
  List& list = ListOf(type, path);
  const auto add = [&](std::vector<std::string>& names, const FeatureSelection& selection) {
    for (const std::string& name : FeatureColumns::NamesIn(format, ids, selection)) {
      if (!Contains(names, name)) names.push_back(name);
    }
  };
  add(list.offered, {});
  if (!list.selection.wanted()) return;
  add(list.found, list.selection);
  // An empty file has no columns, and no rows that would lack one.
  if (!of_file_.contains(path) || format.columns.empty()) return;
  std::string end;
  if (!format.header) {
    end = " (positions: there is no header); if its first row is a header, give --header yes";
  }
  std::vector<std::string> id_columns;
  for (size_t c : ids) id_columns.push_back(format.columns[c]);
  for (const std::string& name : *list.selection.wanted()) {
    if (Contains(id_columns, name)) end += StrCat("; '", name, "' has ids");
  }
  Check(list, path + " has no", end);
}

void FeatureSelections::AddFileWithoutColumns(const std::string& path) const {
  if (!of_file_.contains(path)) return;
  Throw(ErrorCode::kInvalid, "--feat_cols: ", path, " is an array and has no columns of features; ",
        "omit --feat_cols ", path, "=...");
}

void FeatureSelections::Check(const List& list, const std::string& tables_have,
                              const std::string& end) {
  if (!list.selection.wanted()) return;
  for (const std::string& name : *list.selection.wanted()) CheckName(list, name, tables_have, end);
}

void FeatureSelections::CheckName(const List& list, const std::string& name,
                                  const std::string& tables_have, const std::string& end) {
  if (Contains(list.found, name)) return;
  const std::string offered = list.offered.empty()       ? "there is none"
                              : list.offered.size() == 1 ? "there is " + list.offered[0]
                                                         : "there are " + Join(list.offered, ", ");
  Throw(ErrorCode::kInvalid, "--feat_cols: ", tables_have, " feature column '", name, "'; ",
        offered, end);
}

void FeatureSelections::CheckAllFound(const std::vector<std::string>& types,
                                      const std::vector<std::string>& files) const {
  for (const std::string& name : all_.selection.wanted().value_or(std::vector<std::string>{})) {
    const size_t equals = name.find('=');
    std::string end;
    if (equals != name.npos) {
      end = StrCat("; '", name.substr(0, equals), "' is not a type or a file: the types are ",
                   Join(types, ", "), ", and the files ", Join(files, ", "));
    }
    CheckName(all_, name, "no table has a", end);
  }
  for (const auto& [type, list] : of_type_) Check(list, "no table of " + type + " has a", "");
}

}  // namespace graphd
