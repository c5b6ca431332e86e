// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

namespace graphd {

// Reads the chunked format that DGL's distributed partitioning takes (its tool chunk_graph writes
// it): a metadata.json and files with chunks of edges and features.
//
//   node_type, edge_type                 names; "src:rel:dst". Their order is that of the ids
//   num_nodes_per_type                   counts [type], or num_nodes_per_chunk, [type][chunk];
//   num_edges_per_type                   likewise. If both forms exist, they must agree
//   edges        {etype: FILES}
//   node_data, edge_data                 {type: {feature: FILES}}
//   FILES        {"format": {"name": "numpy" | "csv"}, "data": [path, ...]}
//
// Edges are pairs of type-wise ids: text with any separator, or arrays as in edge_files.h. Features
// are arrays, or text with a row per line. A feature in one array is mapped; several chunks are
// joined in memory. Paths are relative to metadata.json; if an absolute path does not exist, its
// last components are searched for below the directory of metadata.json, because the data set may
// have been moved. Throws Error(kCorrupt), Error(kNotFound), and Error(kInvalid) for Parquet.
// With `spill`, edges, joined arrays and features of text are kept in files there.
RawGraph ReadChunked(const std::string& metadata_path, const StepProgress& progress = {},
                     SpillFiles* spill = nullptr);

}  // namespace graphd
