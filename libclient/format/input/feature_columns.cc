// SPDX-License-Identifier: Apache-2.0
#include "format/input/feature_columns.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {

bool FeatureSelection::Takes(const std::string& name) const {
  return !wanted_ || std::find(wanted_->begin(), wanted_->end(), name) != wanted_->end();
}

std::vector<std::string> FeatureColumns::NamesIn(const TableFormat& format,
                                                 const std::vector<size_t>& taken,
                                                 const FeatureSelection& selection) {
  std::vector<std::string> names;
  FeatureColumns("").GroupColumns(format, taken, selection, &names);
  return names;
}

std::vector<FeatureColumns::Group> FeatureColumns::GroupColumns(
    const TableFormat& format, const std::vector<size_t>& taken, const FeatureSelection& selection,
    std::vector<std::string>* names) const {
  const auto takes = [&](const std::string& name) {
    if (!selection.Takes(name)) return false;
    if (names != nullptr) names->push_back(name);
    return true;
  };
  std::vector<Group> groups;
  for (size_t c = 0; c < format.columns.size(); c++) {
    if (std::find(taken.begin(), taken.end(), c) != taken.end()) continue;
    const std::string& column = format.columns[c];
    if (!format.list_sizes.empty() && format.list_sizes[c] > 0) {
      if (takes(column)) groups.push_back({column, {c}, format.list_sizes[c]});
      continue;
    }
    if (!format.header) {
      if (!takes(column)) continue;
      if (groups.empty()) groups.push_back({single_, {}, 0});
      groups[0].columns.push_back(c);
      continue;
    }
    const size_t dot = column.rfind('.');
    const std::string name = column.substr(0, dot);
    const bool indexed = dot != column.npos && dot > 0;
    if (indexed && !groups.empty() && groups.back().name == name && groups.back().list_size == 0 &&
        column.substr(dot + 1) == std::to_string(groups.back().columns.size())) {
      groups.back().columns.push_back(c);
    } else if (indexed && column.substr(dot + 1) == "0") {
      if (takes(name)) groups.push_back({name, {c}, 0});
    } else if (takes(column)) {
      groups.push_back({column, {c}, 0});
    }
  }
  if (!format.header && !groups.empty() && groups[0].columns.size() > 1) groups[0].name = "feat";
  return groups;
}

void FeatureColumns::SortLike(const std::vector<Group>& first, std::vector<Group>& groups) {
  const auto place = [&](const Group& group) {
    return std::find_if(first.begin(), first.end(),
                        [&](const Group& each) { return each.name == group.name; });
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return place(a) < place(b); });
}

void FeatureColumns::Open(const std::string& path, const TableFormat& format,
                          const std::vector<size_t>& taken, const FeatureSelection& selection) {
  std::vector<Group> groups = GroupColumns(format, taken, selection);
  columns_ = format.columns;
  header_ = format.header;
  if (first_path_.empty()) {
    first_path_ = path;
    for (const Group& group : groups) {
      values_.emplace_back(group.name, FeatureDTypes::kAsText, spill_);
      // Columns of text without names are too often something else, such as the relations of
      // triples "head relation tail".
      if (accepts_texts_ && format.header && group.width() == 1) values_.back().AcceptTexts();
    }
  } else {
    SortLike(groups_, groups);
    const auto describe = [](const std::vector<Group>& all) {
      std::vector<std::string> names;
      for (const Group& g : all) names.push_back(StrCat(g.name, " of ", g.width()));
      return names.empty() ? std::string("none") : Join(names, ", ");
    };
    if (describe(groups) != describe(groups_)) {
      Throw(ErrorCode::kInvalid, path, " has the feature columns ", describe(groups),
            ", expected those of ", first_path_, ": ", describe(groups_),
            "; --feat_cols can leave some out, also of one file: --feat_cols ", path, "=NAME,NAME");
    }
  }
  groups_ = std::move(groups);
}

std::string FeatureColumns::Refusal(std::string_view cell, size_t group, size_t column) const {
  return Sentence(cell, column, values_[group].Problem(cell));
}

std::string FeatureColumns::Sentence(std::string_view cell, size_t column,
                                     const std::string& end) const {
  const bool lacks_header = accepts_texts_ && !header_;
  return StrCat("'", Printable(std::string(cell.substr(0, 40))), "' in column '", columns_[column],
                "' ", end,
                lacks_header ? "; columns of text need a header: give --header yes if the first "
                               "row is one, or leave the columns out with --feat_cols none"
                             : remedy_);
}

void FeatureColumns::Append(const ArrowBatch& batch, const std::string& path, int64_t first_row) {
  std::vector<const ArrowColumn*> columns;
  for (size_t g = 0; g < groups_.size(); g++) {
    columns.clear();
    for (size_t c : groups_[g].columns) columns.push_back(&batch.columns[c]);
    values_[g].Append(columns, batch.owner, path, first_row);
  }
}

std::vector<size_t> FeatureColumns::columns() const {
  std::vector<size_t> columns;
  for (const Group& group : groups_) {
    columns.insert(columns.end(), group.columns.begin(), group.columns.end());
  }
  return columns;
}

void FeatureColumns::Finish(int64_t rows, std::vector<RawFeature>& features) && {
  for (size_t g = 0; g < groups_.size(); g++) {
    if (const std::string doubt = values_[g].Doubt(); !doubt.empty()) {
      Throw(ErrorCode::kCorrupt, values_[g].place(), ": ",
            Sentence(values_[g].labels()->name(0), groups_[g].columns[0], doubt));
    }
    std::vector<int64_t> shape{rows};
    // The first rows, by which the file was opened, may have had no list.
    const int64_t width =
        std::max(values_[g].list_size(), static_cast<int64_t>(groups_[g].width()));
    if (width > 1) shape.push_back(width);
    std::shared_ptr<const NameTable> labels = values_[g].labels();
    const uint64_t missing = values_[g].missing();
    const bool mask = groups_[g].name.ends_with("_mask");
    AddFeature(features, groups_[g].name, std::move(values_[g]).Finish(std::move(shape), mask),
               first_path_);
    features.back().labels = std::move(labels);
    features.back().missing = missing;
  }
}

void AddFeature(std::vector<RawFeature>& features, const std::string& name, Tensor values,
                const std::string& source) {
  for (const RawFeature& feature : features) {
    if (feature.name == name) {
      Throw(ErrorCode::kInvalid, source, ": there is another feature '", name, "'; remove one");
    }
  }
  features.push_back({name, std::move(values)});
}

}  // namespace graphd
