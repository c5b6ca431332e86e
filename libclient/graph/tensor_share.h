// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/schema.h"
#include "graphd/tensor_spec.h"

namespace graphd {

// A share is the part of a distributed tensor that belongs to one partition. This type describes a
// share as its daemon reports it.
struct TensorShare {
  uint32_t table = 0;  // the number of its table on that daemon, the same after a restart
  PartId part = 0;
  TensorInfo info;
  uint64_t resident_bytes = 0;
  // The resident bytes that the share will have when its memory is prepared (store::TablePreparer),
  // or 0 if its memory is not being prepared.
  uint64_t preparing_bytes = 0;
  int64_t stored_rows = 0;  // rows of this partition that are stored
  std::string trouble;      // reason why the share can't be read or written in full; else empty
  bool of_other_version = false;  // its rows are those of another version of the graph; not sent
};

// A share, and where its rows are.
struct ShareMemory {
  TensorShare share;
  uint64_t changed_bytes = 0;  // resident bytes that are not written back yet
  uint64_t stored_bytes = 0;   // in RocksDB's files, approximately
};

// The state of a daemon's tensor store.
struct StoreStatus {
  std::string directory, durability;
  std::string memory;         // directory of the PersistentArena; empty if there is none
  uint64_t memory_bytes = 0;  // limit of resident_bytes; 0: unlimited
  uint64_t resident_bytes = 0, page_bytes = 0, log_bytes = 0, pushes = 0;
  // The changed bytes that the present cycle of write-back found when it began, and how many of
  // them it has written. Between cycles, they are those of the last cycle.
  uint64_t changed_bytes = 0, written_bytes = 0;
  std::string trouble;
  std::vector<std::string> damage;
};

}  // namespace graphd
