// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/input/ogb_raw.h"

namespace graphd {

// Reads the raw layout of Open Graph Benchmark's heterogeneous data sets; ReadOgbRaw calls it.
//
//   raw/num-node-dict                    node types; then how many nodes each has
//   raw/triplet-list                     src,rel,dst: one edge type per line
//   raw/nodetype-has-feat                optional: node types; then True or False
//   raw/nodetype-has-label               optional, likewise
//   raw/relations/SRC___REL___DST/num-edge-list, edge, edge-NAME, edge_NAME
//   raw/node-feat/TYPE/node-NAME, node_NAME
//   raw/node-label/TYPE/node-NAME
//   split/SCHEME/nodetype-has-split      optional: node types; then True or False
//   split/SCHEME/TYPE/{train,valid,test}
//
// Types are numbered in the order of num-node-dict and triplet-list. A directory of features is
// read if it exists, unless the flags say that the type has none; if they say that it has features,
// the directory must exist. Throws as ReadOgbRaw does.
RawGraph ReadOgbHetero(const std::string& directory, const OgbRawOptions& options);

}  // namespace graphd
