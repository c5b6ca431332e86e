// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "format/input/raw_graph.h"
#include "graph/encoding.h"

namespace graphd {

// The user's options for the storage of features in the native format.
struct StorageOptions {
  bool edge_orig_id = true;  // false: edges have no orig_id
  // "[TYPE/]NAME=DTYPE": stores the float32 feature as float16, bfloat16 or int8. Without TYPE,
  // this holds for the feature of all types.
  std::vector<std::string> store_as;
};

// The encodings of all features of a graph. Integers get the narrowest dtype that holds the values
// of the type in all partitions.
struct StoragePlan {
  std::vector<std::vector<Encoding>> node_features, edge_features;  // by type, in the graph's order
  std::vector<Encoding> node_orig_ids, edge_orig_ids;               // by type
  bool edge_orig_id = true;
};

// Returns the encoding of original ids that are 0 .. count - 1.
Encoding OrigIdEncoding(int64_t count);

// Returns the encodings. To choose them, reads all integers and the features of `store_as` once.
// Throws Error(kInvalid) for an argument of another form, for a feature that EncodingFor refuses,
// and for a feature that no type has; the message then lists the existing ones.
StoragePlan MakeStoragePlan(const RawGraph& graph, const StorageOptions& options);

}  // namespace graphd
