// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "format/input/feature_columns.h"
#include "format/input/graph_files.h"
#include "format/io/table_format.h"

namespace graphd {

// The columns of each table that become features, as --feat_cols options select them. The columns
// that are listed for the table's file are used or, if there are none, the columns that are listed
// for its type or, if there are none either, the columns that are listed for all tables.
class FeatureSelections {
 public:
  explicit FeatureSelections(const GraphFilesOptions& options);

  const FeatureSelection& Of(const std::string& type, const std::string& path);
  // Returns the names in the options that may occur in the header of this file.
  std::vector<std::string> NamesFor(const std::string& path) const;
  // Takes a table into account. `ids` has the columns of the table that are ids. Throws
  // Error(kInvalid) if a column that is listed for its file is an id or does not exist.
  void AddTable(const std::string& type, const std::string& path, const TableFormat& format,
                const std::vector<size_t>& ids);
  // Throws Error(kInvalid) if columns are listed for this file, which has none.
  void AddFileWithoutColumns(const std::string& path) const;
  // Throws Error(kInvalid), which names the column, if a column that is listed for all tables, or
  // for the tables of a type, is in none of them. `types` has the names of the graph's types, and
  // `files` the paths of its files: the user may have meant one of these by NAME in "NAME=COLUMN".
  void CheckAllFound(const std::vector<std::string>& types,
                     const std::vector<std::string>& files) const;

 private:
  struct List {
    FeatureSelection selection;
    std::vector<std::string> found = {};    // listed columns that tables have
    std::vector<std::string> offered = {};  // all columns that their features may come from
  };
  List& ListOf(const std::string& type, const std::string& path);
  // Throws Error(kInvalid) naming the first listed column that was not found, if there is one.
  static void Check(const List& list, const std::string& tables_have, const std::string& end);
  static void CheckName(const List& list, const std::string& name, const std::string& tables_have,
                        const std::string& end);

  List all_;
  std::map<std::string, List> of_type_, of_file_;
};

}  // namespace graphd
