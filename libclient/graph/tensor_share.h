// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/schema.h"
#include "graphd/tensor_spec.h"

namespace graphd {

// One partition's share of a distributed tensor, as its daemon tells of it.
struct TensorShare {
  uint32_t table = 0;  // names it on that daemon, also after a restart
  PartId part = 0;
  TensorInfo info;
  uint64_t resident_bytes = 0;
  int64_t stored_rows = 0;  // of this partition
  std::string trouble;      // why it can't be read or written in full
};

// A daemon's store of tensors.
struct StoreStatus {
  std::string directory, durability;
  std::string memory;  // the directory of memory that outlasts the daemon; empty: it does not
  uint64_t memory_bytes = 0;  // the limit of resident_bytes; 0: none
  uint64_t resident_bytes = 0, page_bytes = 0, log_bytes = 0, pushes = 0;
  std::string trouble;
  std::vector<std::string> damage;
};

}  // namespace graphd
