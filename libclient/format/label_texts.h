// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/input/raw_graph.h"

namespace graphd {

// Functions for the files of the texts that labels stand for. The file
// directory/<graph_name>.<type>.<feature>.labels.txt.gz has one text per line; line i (from 0) has
// the text of label i.

// Throws Error(kInvalid) if the name of a feature with labels, or the name of its type, has a
// slash.
void CheckLabelTexts(const std::string& graph_name, const RawGraph& graph);

// Writes a file for each feature that has labels; if the texts are already in a file
// (RawFeature::labels_file), copies that. Returns the paths of the new files. Throws as
// CheckLabelTexts does.
std::vector<std::string> WriteLabelTexts(const std::string& directory,
                                         const std::string& graph_name, const RawGraph& graph);

// Returns the path of the file beside a part config that has the texts of a feature's labels, or ""
// if there is no such file. `type`: the name of the node type, or src:rel:dst.
std::string FindLabelTexts(const PartConfig& config, const std::string& type,
                           const std::string& feature);

// Returns the paths of the files of labels' texts beside a part config, in ascending order. Takes
// the features from the headers of the partitions on this machine, and looks for a file for each
// feature. So it does not take the files of another graph whose name begins with the name of this
// graph.
std::vector<std::string> ListLabelTexts(const PartConfig& config);

// Copies the files of labels' texts beside a part config to a directory, under the same names.
void CopyLabelTexts(const PartConfig& config, const std::string& directory);

// Removes the files of labels' texts that an earlier graph of this name has left.
void RemoveLabelTexts(const std::string& directory, const std::string& graph_name);

}  // namespace graphd
