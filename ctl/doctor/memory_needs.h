// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "format/config/part_config.h"
#include "graphd/tensor_spec.h"
#include "wire/ip_config.h"

// Computes the memory that servers and a job will need, before anything is loaded: from the part
// config, the headers of partitions and the sizes of files.

namespace graphd::ctl {

// The memory of an array of a graph, or of the rows of a tensor on a host.
struct MemoryItem {
  std::string name;   // "csc/_N:_E:_N/indices", or the tensor's name
  std::string dtype;  // the stored one; empty if only the bytes are known
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
};

struct PartitionNeeds {
  PartId part = 0;
  // The arrays, in the order of the files. A partition of DGL is converted when it is loaded, so it
  // has a single item, whose size is an upper bound.
  std::vector<MemoryItem> arrays;
  uint64_t bytes = 0;  // all arrays with the gaps between them
};

// A tensor or an embedding that a job makes for each node of a type, with an optimiser's state.
struct TensorPlan {
  NodeTypeId ntype = 0;
  int64_t columns = 1;
  DType dtype = DType::kFloat32;
  OptimizerState state = OptimizerState::kNone;
};

struct HostNeeds {
  std::string address;  // the one in ip_config or, without a partition, in --trainer_hosts
  size_t daemons = 0;
  std::vector<PartitionNeeds> partitions;
  std::vector<MemoryItem> tensors;  // the rows on this host; no limit is applied
  uint64_t book_bytes = 0;          // a book with an owner per id; 0 for ranges
  uint64_t graph_bytes = 0;         // partitions and books
  uint64_t tensor_bytes = 0;        // for each daemon here, at most tensor_limit
  // AddTrainers sets the following members: the trainers of the host, and their memory.
  int trainers = 0;
  std::vector<MemoryItem> trainer_items;
  uint64_t trainer_bytes = 0;
  uint64_t total() const noexcept { return graph_bytes + tensor_bytes + trainer_bytes; }
};

// Returns the memory in bytes that a partition book needs for the owners of single ids; 0 for a
// book in which partitions own ranges of ids. Each daemon and each trainer has its own book.
uint64_t BookBytes(const PartitionBook& book);

// Parses "NTYPE=COLUMNS" or "NTYPE=COLUMNS:DTYPE"; `option` is the option's name for messages.
// Throws Error(kInvalid) naming the value and what is expected.
TensorPlan ParseTensorPlan(const std::string& text, const PartConfig& config,
                           const std::string& option);

// Returns the needs of each machine of `lines`, in the order of first appearance; without lines,
// each partition is assumed to be on a machine of its own. `tensor_limit` is the value of
// --embedding_memory of a daemon; 0 means no limit. Throws what LoadPartConfig and
// EstimatePartitionBytes throw, and Error(kInvalid) unless there is a line per partition.
std::vector<HostNeeds> MemoryNeeds(const PartConfig& config, const std::vector<HostLine>& lines,
                                   const std::vector<TensorPlan>& tensors, uint64_t tensor_limit);

}  // namespace graphd::ctl
