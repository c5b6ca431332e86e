// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"

// A raw graph whose arrays are in files, so that another process can go on with it. A manifest in
// the directory of the spill files says which array is where.

namespace graphd {

inline constexpr const char* kGraphManifest = "graph.json";

// Writes the arrays that are in no file yet, removes spill files that no array needs, and writes
// the manifest, last. Names of nodes and texts of labels are written to files: the graph that
// LoadRawGraph returns has names_file and labels_file in their place.
void SaveRawGraph(const RawGraph& graph, SpillFiles& spill);

// Returns whether the directory has a manifest.
bool HasRawGraph(const SpillFiles& spill);

// Returns the graph, all arrays mapped, and removes spill files that no array needs, which a run
// that was killed may have left. Throws Error(kCorrupt) or Error(kNotFound) if a file is missing or
// shorter than the manifest says.
RawGraph LoadRawGraph(SpillFiles& spill);

}  // namespace graphd
