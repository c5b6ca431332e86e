// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/input/raw_graph.h"

namespace graphd {

// Files of the texts that labels stand for: directory/<graph_name>.<type>.<feature>.labels.txt.gz
// has one text per line; line i (from 0) has the text of label i.

// Throws Error(kInvalid) if a feature with labels or its type has a name with a slash.
void CheckLabelTexts(const std::string& graph_name, const RawGraph& graph);

// Writes the file of each feature that has labels, or copies the existing file, and returns the
// paths. Throws as CheckLabelTexts does.
std::vector<std::string> WriteLabelTexts(const std::string& directory,
                                         const std::string& graph_name, const RawGraph& graph);

// Returns the path of the file beside a part config that has the texts of a feature's labels, "" if
// there is none. `type`: the name of the node type, or src:rel:dst.
std::string FindLabelTexts(const PartConfig& config, const std::string& type,
                           const std::string& feature);

// Returns the paths of the files of labels' texts beside a part config, in ascending order. Reads
// the headers of the partitions on this machine and looks for a file for each of their features, so
// the files of a graph whose name merely begins with this graph's name are left out.
std::vector<std::string> ListLabelTexts(const PartConfig& config);

// Copies the files of labels' texts of a part config to a directory, for the same graph name.
void CopyLabelTexts(const PartConfig& config, const std::string& directory);

// Removes the files that an earlier graph of this name has left.
void RemoveLabelTexts(const std::string& directory, const std::string& graph_name);

}  // namespace graphd
