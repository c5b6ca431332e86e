// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/schema.h"
#include "wire/control.capnp.h"

// The contents of a daemon's memory, as `graphctl debug memory` shows them (wire/control.capnp).
// They are plain values.

namespace graphd {

// Describes an array of a partition, or of an index that was derived from it.
struct ArrayMemory {
  PartId part = 0;
  std::string segment;  // "graph", "node_feat", "edge_feat" or "index"
  std::string type;     // the type of nodes or edges: "paper", "author:writes:paper"
  std::string name;     // such as "indptr", or the name of a feature
  std::string dtype;    // the type in which the elements are stored
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  std::string pages;             // such as "4 KiB"; empty: not determined
  std::string fingerprint = {};  // the version of the graph that it belongs to
};

// Describes the share that a partition has of a tensor or an embedding.
struct TensorMemory {
  PartId part = 0;
  std::string name;
  std::string job_id;  // the job that owns it; empty: it is persistent
  std::string dtype;
  std::vector<int64_t> shape;  // the shape of the share
  uint64_t bytes = 0;          // in memory, with the optimiser's state
  uint64_t changed_bytes = 0;  // the part of `bytes` that is not written back yet
  uint64_t stored_bytes = 0;   // in RocksDB's files, after compression, approximately
};

struct MemoryUse {
  std::vector<ArrayMemory> arrays;    // the largest, in descending order of their bytes
  std::vector<TensorMemory> tensors;  // the largest, too
  // The sums cover all arrays and shares, also those that the lists leave out.
  uint64_t num_arrays = 0, num_tensors = 0;
  uint64_t graph_bytes = 0;   // the partitions' segments, with the gaps that align arrays
  uint64_t index_bytes = 0;   // the derived arrays' segments
  uint64_t tensor_bytes = 0;  // the sum over all shares
  // RocksDB's buffers, where they count towards the limit of memory. The resident bytes in the
  // status of the store are tensor_bytes + buffer_bytes.
  uint64_t buffer_bytes = 0;
  uint64_t changed_bytes = 0, stored_bytes = 0;
  uint64_t rss_bytes = 0;  // the memory of the process that is in RAM
};

void WriteMemoryUse(const MemoryUse& use, wire::MemoryUse::Builder out);
MemoryUse ReadMemoryUse(wire::MemoryUse::Reader in);

}  // namespace graphd
