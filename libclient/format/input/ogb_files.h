// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "format/io/step_progress.h"

// The files of Open Graph Benchmark's layouts: numbers as CSV without header, each gzip-compressed
// (.csv.gz) or plain (.csv). Missing files throw Error(kNotFound), bad contents Error(kCorrupt)
// "file:line: ...". With `spill`, edges and features are kept in files there.

namespace graphd {

// Return directory/base.csv.gz, or directory/base.csv. If both are missing, FindOgbCsv returns
// nothing and RequireOgbCsv throws Error(kNotFound).
std::optional<std::string> FindOgbCsv(const std::string& directory, const std::string& base);
std::string RequireOgbCsv(const std::string& directory, const std::string& base);

// Reads directory/base, which contains one number.
int64_t ReadOgbCount(const std::string& directory, const std::string& base);

// Reads directory/edge: `count` lines source,destination.
void ReadOgbEdges(const std::string& directory, int64_t src_nodes, int64_t dst_nodes, int64_t count,
                  const StepProgress& progress, RawEdges& edges, SpillFiles* spill = nullptr);

// Reads every directory/<kind>-NAME and directory/<kind>_NAME, in alphabetical order, `rows` lines
// each.
void ReadOgbFeatures(const std::string& directory, const std::string& kind, int64_t rows,
                     const StepProgress& progress, std::vector<RawFeature>& features,
                     SpillFiles* spill = nullptr);

// Returns the directory of the split scheme to use: split/<wanted> or, if `wanted` is empty, the
// only one. Returns nothing if the data set has no split. Throws Error(kInvalid) if several exist
// and `wanted` is empty, or if `wanted` does not exist.
std::optional<std::string> ChooseOgbSplit(const std::string& directory, const std::string& wanted);

// Reads directory/{train,valid,test}, files of node ids, as train_mask, val_mask and test_mask.
void ReadOgbMasks(const std::string& directory, int64_t nodes, std::vector<RawFeature>& features);

}  // namespace graphd
