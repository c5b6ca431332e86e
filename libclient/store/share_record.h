// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "graphd/schema.h"
#include "graphd/tensor_spec.h"
#include "store/rows/table_spec.h"

namespace graphd::store {

// What the store keeps with a table (TableSpec::attributes) so that the share of a distributed
// tensor that it holds is known again.
struct ShareRecord {
  TensorSpec spec;
  PartId part = 0, num_parts = 0;
  std::string job_id;    // whose it is; empty: persistent
  std::string holder;    // of the lease
  bool filled = true;    // first values are there
  bool loading = false;  // rows of a checkpoint are being loaded, or were not to the end
};

// A table's name: by partition, job and the tensor's name.
std::string TableName(PartId part, const std::string& job_id, const std::string& name);

std::string EncodeRecord(const ShareRecord& record);
// Throws Error(kCorrupt).
ShareRecord DecodeRecord(const TableSpec& table, const std::string& attributes);

}  // namespace graphd::store
