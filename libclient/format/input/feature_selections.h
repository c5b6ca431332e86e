// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "format/input/feature_columns.h"
#include "format/input/graph_files.h"
#include "format/io/table_format.h"

namespace graphd {

// The columns of each table that become features, as --feat_cols options list them: those listed
// for its file or, if there are none, for its type, or else for all tables.
class FeatureSelections {
 public:
  explicit FeatureSelections(const GraphFilesOptions& options);

  const FeatureSelection& Of(const std::string& type, const std::string& path);
  // Returns the names in the options that the header of a file may have.
  std::vector<std::string> NamesFor(const std::string& path) const;
  // Takes a table into account. `ids`: its columns that are ids. Throws Error(kInvalid) if a column
  // that is listed for its file is none of its others.
  void AddTable(const std::string& type, const std::string& path, const TableFormat& format,
                const std::vector<size_t>& ids);
  // Throws Error(kInvalid) if columns are listed for a file that has none.
  void AddFileWithoutColumns(const std::string& path) const;
  // Throws Error(kInvalid) naming a column that is listed for all tables or those of a type, and
  // that none of them has. `types` has the names of the graph's types, and `files` the paths of its
  // files, which "NAME=COLUMN" may have been meant to begin with.
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
