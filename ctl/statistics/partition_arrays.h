// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/statistics/stored_array.h"
#include "format/config/part_config.h"
#include "format/io/step_progress.h"

namespace graphd::ctl {

// The arrays of one partition. The arrays of a native partition stay in their files. A partition of
// DGL is loaded into memory, because its files have another layout. Immutable after construction.
class PartitionArrays {
 public:
  // Opens the files, and compares the names and shapes of all arrays with the part config. Throws
  // what FeatureArrays and LoadPartition throw.
  PartitionArrays(const PartConfig& config, PartId part, const StepProgress& progress);

  // Returns the array. Throws Error(kCorrupt) if it does not exist.
  const StoredArray& Get(const std::string& name) const;
  // Returns the arrays whose names begin with `prefix`, ordered by name.
  std::vector<const StoredArray*> WithPrefix(std::string_view prefix) const;
  // Returns the bytes of all arrays.
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  void OpenNative(const PartConfig& config, PartId part);
  void LoadDgl(const PartConfig& config, PartId part, const StepProgress& progress);
  void Add(StoredArray array);
  void CheckShapes(const GraphMeta& meta, PartId part) const;
  void CheckRows(const std::string& name, int64_t rows) const;

  std::string where_;  // the partition, in messages
  std::map<std::string, StoredArray, std::less<>> arrays_;
  uint64_t bytes_ = 0;
};

}  // namespace graphd::ctl
