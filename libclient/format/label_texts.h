// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/input/raw_graph.h"

namespace graphd {

// Files of the texts that labels stand for: directory/<graph_name>.<type>.<feature>.labels.txt.gz
// has one text per line; line i (from 0) has that of label i.

// Throws Error(kInvalid) if a feature with labels or its type has a name with a slash.
void CheckLabelTexts(const std::string& graph_name, const RawGraph& graph);

// Writes the file of each feature that has labels, or copies the existing file, and returns the
// paths. Throws as CheckLabelTexts does.
std::vector<std::string> WriteLabelTexts(const std::string& directory,
                                         const std::string& graph_name, const RawGraph& graph);

// Removes the files that an earlier graph of that name left.
void RemoveLabelTexts(const std::string& directory, const std::string& graph_name);

}  // namespace graphd
