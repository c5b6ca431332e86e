// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "format/input/raw_graph.h"

namespace graphd {

// Names of nodes stand in directory/<graph_name>.<ntype>.ids.txt.gz: a name a line, line i (from 0)
// that of the node whose orig_id is i.

// Removes those that an earlier graph of that name left.
void RemoveNodeNames(const std::string& directory, const std::string& graph_name);

// The files that are there beside a part config, by NodeTypeId; empty where there is none.
std::vector<std::string> FindNodeNames(const PartConfig& config);

// Writes those of each node type that has names, or copies the file that has them; the paths by
// node type.
std::map<std::string, std::string> WriteNodeNames(const std::string& directory,
                                                  const std::string& graph_name,
                                                  const RawGraph& graph);

// Copies those of a part config beside another of the same graph name, whose orig_id are the same.
void CopyNodeNames(const PartConfig& config, const std::string& directory);

}  // namespace graphd
