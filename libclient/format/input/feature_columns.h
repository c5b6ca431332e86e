// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/arrow/feature_values.h"
#include "format/input/raw_graph.h"
#include "format/io/table_format.h"

// The columns of a table that become features of its nodes or edges.
//
// With a header, a column becomes a feature of its name, and columns called NAME.0, NAME.1 ...
// become one feature NAME of several numbers. Without a header, a single column becomes a feature
// with the name `single`, which the constructor gets, and several columns become one feature
// "feat". In tables that are stored by column, a column of lists of numbers is a feature, too. In
// tables with a header, a column of text becomes labels, whose texts are kept (FeatureValues).
// Without a header, a column of text is refused, because it may be the relation of triples, or the
// destinations.

namespace graphd {

// The columns that a user wants as features: all columns, or those with certain names or positions.
class FeatureSelection {
 public:
  FeatureSelection() = default;
  explicit FeatureSelection(std::optional<std::vector<std::string>> wanted)
      : wanted_(std::move(wanted)) {}
  bool Takes(const std::string& name) const;
  const std::optional<std::vector<std::string>>& wanted() const { return wanted_; }

 private:
  std::optional<std::vector<std::string>> wanted_;
};

class FeatureColumns {
 public:
  // With `spill`, the features are kept in files there.
  explicit FeatureColumns(std::string single, SpillFiles* spill = nullptr)
      : spill_(spill), single_(std::move(single)) {}

  // Returns the names or positions by which `selection` selects features of a table. `taken` has
  // the columns that are ids.
  static std::vector<std::string> NamesIn(const TableFormat& format,
                                          const std::vector<size_t>& taken,
                                          const FeatureSelection& selection);

  // Refuses columns of text in files that are opened later. `remedy` ends the message.
  void RefuseTexts(std::string remedy) {
    accepts_texts_ = false;
    remedy_ = std::move(remedy);
  }
  // Begins a file; must be called before its rows are appended. `taken` has the columns that are
  // ids. Throws Error(kInvalid) if the file has other features than earlier files; their order may
  // differ.
  void Open(const std::string& path, const TableFormat& format, const std::vector<size_t>& taken,
            const FeatureSelection& selection);
  // Appends the features of a row. `where` has Fail(...), which is called for a cell that is
  // neither a number nor a label, and Place(), which names the row's file and line.
  template <class Where>
  void Append(std::span<const std::string_view> cells, const Where& where) {
    for (size_t g = 0; g < groups_.size(); g++) {
      for (size_t c : groups_[g].columns) {
        if (!values_[g].Append(cells[c])) where.Fail(Refusal(cells[c], g, c));
        if (values_[g].needs_place()) values_[g].SetPlace(where.Place());
      }
    }
  }
  // Appends the features of a batch, which has the columns that the file was opened with. Throws
  // as FeatureValues::Append does.
  void Append(const ArrowBatch& batch, const std::string& path, int64_t first_row);
  // Returns the columns of the open file that become features.
  std::vector<size_t> columns() const;
  // Adds the features to `features`. A feature whose name ends in "_mask" becomes uint8 if all of
  // its values are 0 or 1. Throws Error(kInvalid) if `features` already has a feature with the name
  // of a new one. If the texts of a column are probably not labels (FeatureValues::Doubt), throws
  // Error(kCorrupt), which names the place of the first text.
  void Finish(int64_t rows, std::vector<RawFeature>& features) &&;

 private:
  struct Group {
    std::string name;
    std::vector<size_t> columns;
    int64_t list_size = 0;  // numbers per list in its only column; 0: it has no lists
    size_t width() const { return list_size > 0 ? static_cast<size_t>(list_size) : columns.size(); }
  };
  std::string Refusal(std::string_view cell, size_t group, size_t column) const;
  std::string Sentence(std::string_view cell, size_t column, const std::string& end) const;
  // Returns the features of a table. Adds the names that `selection` takes to `names` unless it is
  // null.
  std::vector<Group> GroupColumns(const TableFormat& format, const std::vector<size_t>& taken,
                                  const FeatureSelection& selection,
                                  std::vector<std::string>* names = nullptr) const;
  // Puts the groups in the order in which `first` has groups of the same names.
  static void SortLike(const std::vector<Group>& first, std::vector<Group>& groups);

  SpillFiles* spill_;
  bool accepts_texts_ = true;
  bool header_ = true;  // the open file has one
  std::string remedy_ = "; --feat_cols can leave the column out";
  std::string single_, first_path_;
  std::vector<Group> groups_;
  std::vector<FeatureValues> values_;
  std::vector<std::string> columns_;  // names in the open file, for messages
};

// Adds a feature. Throws Error(kInvalid) naming `source` if there is a feature of that name
// already.
void AddFeature(std::vector<RawFeature>& features, const std::string& name, Tensor values,
                const std::string& source);

}  // namespace graphd
