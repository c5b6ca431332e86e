// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"

// Functions that store a raw graph in files, so that another process can continue with it. A
// manifest in the directory of the spill files describes where each array is.

namespace graphd {

inline constexpr const char* kGraphManifest = "graph.json";

// Writes the arrays that are not in files yet, removes spill files that no array needs, and finally
// writes the manifest. Names of nodes and texts of labels are written to files, too: the graph that
// LoadRawGraph returns has names_file and labels_file instead of them.
void SaveRawGraph(const RawGraph& graph, SpillFiles& spill);

// Returns whether the directory has a manifest.
bool HasRawGraph(const SpillFiles& spill);

// Returns the graph with all arrays mapped. Removes spill files that no array needs, which a run
// that was killed may have left. Throws Error(kCorrupt) or Error(kNotFound) if a file is missing or
// shorter than the manifest says.
RawGraph LoadRawGraph(SpillFiles& spill);

}  // namespace graphd
