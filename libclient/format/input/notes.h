// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/input/edge_files.h"
#include "format/input/raw_graph.h"
#include "graphd/schema.h"

// Sentences about what is doubtful in a graph's files, with counts. Each function returns "" if
// there is nothing to say.

namespace graphd {

// Lists the texts that labels stand for, up to 20. If there are more and most rows have different
// texts, also says how many different texts there are. If some of the texts are numbers and others
// are not, says how many are numbers.
std::string LabelsNote(const RawFeature& feature);

// Counts the NaN in a feature of floats, and the empty cells and nulls among them. `of` names the
// type.
std::string MissingNote(const std::string& of, const RawFeature& feature);

// Returns the MissingNote of each feature that has one.
std::vector<std::string> MissingNotes(const RawGraph& graph);

// If more than half of a type's names are whole numbers, counts the names that are not.
std::string LoneNamesNote(const std::string& ntype, const NameTable& names);

// Warns that the columns of sources and destinations of a table may be wrong if they were chosen by
// their positions. There are two reasons: other columns have usual names of ends ("src", "target"),
// or the first column counts the rows and three columns could be ids.
std::string EndColumnsNote(const EdgeTable& table, const CanonicalEdgeType& type);

}  // namespace graphd
