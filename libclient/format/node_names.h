// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/raw_graph.h"

namespace graphd {

// Names of nodes stand in directory/<graph_name>.<ntype>.ids.txt.gz: a name a line, line i (from 0)
// that of the node whose orig_id is i.

// Removes those that an earlier graph of that name left.
void RemoveNodeNames(const std::string& directory, const std::string& graph_name);

// Writes those of each node type that has names.
void WriteNodeNames(const std::string& directory, const std::string& graph_name,
                    const RawGraph& graph);

}  // namespace graphd
