// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/input/raw_graph.h"

namespace graphd {

// Functions for the files of node names. The file directory/<graph_name>.<ntype>.ids.txt.gz has one
// name per line; line i (from 0) has the name of the node whose orig_id is i.

// Returns the name of the file for a node type.
std::string NodeNamesFileName(const std::string& graph_name, const std::string& ntype);

// Removes the files of node names that an earlier graph of that name has left.
void RemoveNodeNames(const std::string& directory, const std::string& graph_name);

// Removes the files "<graph_name>.<any><ending>" from a directory, and the temporary files that an
// interrupted run has left when it was writing such files.
void RemoveListFiles(const std::string& directory, const std::string& graph_name,
                     const std::string& ending);

// Copies a file of node names. The copy gets its name when it is complete and on the disk.
void CopyNames(const std::string& from, const std::string& to);

// Returns, by NodeTypeId, the path of each type's file of node names beside a part config; "" for
// types without a file.
std::vector<std::string> FindNodeNames(const PartConfig& config);

// Writes a file for each node type that has names; if the names are already in a file
// (RawNodes::names_file), copies that. Returns the paths of the new files by node type.
std::map<std::string, std::string> WriteNodeNames(const std::string& directory,
                                                  const std::string& graph_name,
                                                  const RawGraph& graph);

// Copies the files of node names beside a part config to a directory, under the same names. They
// are valid there for a graph with the same orig_id.
void CopyNodeNames(const PartConfig& config, const std::string& directory);

}  // namespace graphd
