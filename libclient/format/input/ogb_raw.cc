// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_raw.h"

#include "base/file.h"
#include "base/strings.h"
#include "format/input/ogb_files.h"
#include "format/input/ogb_hetero.h"

namespace graphd {

RawGraph ReadOgbRaw(const std::string& directory, const OgbRawOptions& options) {
  const std::string raw = JoinPath(directory, "raw");
  if (FindOgbCsv(raw, "triplet-list")) return ReadOgbHetero(directory, options);
  RawGraph graph;
  graph.schema = Schema::Homogeneous();
  graph.nodes.resize(1);
  graph.edges.resize(1);
  RawNodes& nodes = graph.nodes[0];
  RawEdges& edges = graph.edges[0];

  nodes.count = ReadOgbCount(raw, "num-node-list");
  if (nodes.count == 0) Throw(ErrorCode::kInvalid, raw, ": the graph has no nodes");
  const int64_t num_edges = ReadOgbCount(raw, "num-edge-list");
  ReadOgbEdges(raw, nodes.count, nodes.count, num_edges, options.progress, edges, options.spill);
  ReadOgbFeatures(raw, "node", nodes.count, options.progress, nodes.features, options.spill);
  ReadOgbFeatures(raw, "edge", num_edges, options.progress, edges.features, options.spill);
  if (const auto split = ChooseOgbSplit(directory, options.split)) {
    ReadOgbMasks(*split, nodes.count, nodes.features);
  }
  return graph;
}

}  // namespace graphd
