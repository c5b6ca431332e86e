// SPDX-License-Identifier: Apache-2.0
#include "format/input/raw_graph.h"

#include "base/strings.h"

namespace graphd {

void AddReverseEdges(RawGraph& graph) {
  std::vector<std::string> ntypes;
  std::vector<CanonicalEdgeType> etypes;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++)
    ntypes.push_back(graph.schema.ntype(t));
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++)
    etypes.push_back(graph.schema.etype(e));
  const size_t stored = etypes.size();
  for (size_t e = 0; e < stored; e++) {
    const CanonicalEdgeType type = etypes[e];
    if (type.src == type.dst) {
      graph.edges[e].add_reverse = true;
      continue;
    }
    const CanonicalEdgeType reverse{type.dst, "rev_" + type.rel, type.src};
    for (const CanonicalEdgeType& other : etypes) {
      if (!(other == reverse)) continue;
      Throw(ErrorCode::kInvalid, "--add_reverse: the input has the edge type ", reverse.ToString(),
            " already, the reverse of ", type.ToString(),
            "; omit --add_reverse, or remove that edge type from the input");
    }
    etypes.push_back(reverse);
    const RawEdges& forward = graph.edges[e];
    RawEdges backward;
    backward.src = forward.dst;
    backward.dst = forward.src;
    backward.features = forward.features;
    backward.orig_id = forward.orig_id;
    graph.edges.push_back(std::move(backward));
  }
  graph.schema = Schema(std::move(ntypes), std::move(etypes));
}

}  // namespace graphd
