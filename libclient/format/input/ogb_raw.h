// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

// Reads the raw layout of Open Graph Benchmark's node-property data sets: numbers as CSV without
// header, each file gzip-compressed (.csv.gz) or plain (.csv).
//
//   raw/num-node-list, raw/num-edge-list   one line: how many nodes, edges
//   raw/edge                               source,destination by node id, one edge a line
//   raw/node-NAME, raw/node_NAME           one line a node: feature NAME ("feat", "label", "year")
//   raw/edge-NAME, raw/edge_NAME           one line an edge
//   split/SCHEME/{train,valid,test}        node ids: become train_mask, val_mask, test_mask (uint8)
//
// It also reads the layout of the heterogeneous data sets, which have raw/triplet-list
// (ogb_hetero.h).
//
// Columns of whole numbers become int64, others (also those with nan) float32; "feat" is always
// float32. One column becomes a feature of shape [N], several one of [N, columns].

namespace graphd {

struct OgbRawOptions {
  std::string split;  // scheme; empty: the only one, if there is one
  StepProgress progress;
  SpillFiles* spill = nullptr;  // if set, edges and features are kept in files there
};

// Reads the data set. Throws Error(kNotFound) for a missing file, Error(kCorrupt) "file:line: ..."
// for bad contents, Error(kInvalid) if `split` is needed but not given, or does not exist.
RawGraph ReadOgbRaw(const std::string& directory, const OgbRawOptions& options = {});

}  // namespace graphd
