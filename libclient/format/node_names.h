// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/raw_graph.h"

namespace graphd {

// For each node type with names, writes directory/<graph_name>.<ntype>.ids.txt.gz: a name a line,
// line i (from 0) that of the node whose orig_id is i. Files that an earlier graph of that name
// left are removed first.
void ReplaceNodeNames(const std::string& directory, const std::string& graph_name,
                      const RawGraph& graph);

}  // namespace graphd
