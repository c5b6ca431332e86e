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

// Lists the texts that labels stand for, up to 20. Says how many there are if there are more and
// most rows have different ones, and how many of them are numbers if only some are.
std::string LabelsNote(const RawFeature& feature);

// Counts the NaN in a feature of floats, and the empty cells and nulls among them. `of` names the
// type.
std::string MissingNote(const std::string& of, const RawFeature& feature);

// Returns the MissingNote of each feature that has one.
std::vector<std::string> MissingNotes(const RawGraph& graph);

// Counts the names of nodes that are not whole numbers, if more than half of them are.
std::string LoneNamesNote(const std::string& ntype, const NameTable& names);

// Doubts the columns of sources and destinations of a table if they were chosen by their positions:
// if others have usual names of ends ("src", "target"), or if the first column counts the rows and
// three columns could be ids.
std::string EndColumnsNote(const EdgeTable& table, const CanonicalEdgeType& type);

}  // namespace graphd
