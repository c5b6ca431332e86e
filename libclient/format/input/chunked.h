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
//   num_nodes_per_type                   or num_nodes_per_chunk, by type the counts of its pieces;
//   num_edges_per_type                   likewise. With both, they must agree
//   edges        {etype: FILES}
//   node_data, edge_data                 {type: {feature: FILES}}
//   FILES        {"format": {"name": "numpy" | "csv"}, "data": [path, ...]}
//
// Edges are pairs of type-wise ids: text with any separator, or arrays as edge_files.h has them.
// Features are arrays, or text with a row per line. A feature in one array is mapped; several
// chunks are joined in memory. Paths are relative to metadata.json; if an absolute path does not
// exist, its last components are searched for below the directory of metadata.json, since data sets
// move. Throws Error(kCorrupt), Error(kNotFound), and Error(kInvalid) for Parquet.
// With `spill`, edges, joined arrays and features of text are kept in files there.
RawGraph ReadChunked(const std::string& metadata_path, const StepProgress& progress = {},
                     SpillFiles* spill = nullptr);

}  // namespace graphd
