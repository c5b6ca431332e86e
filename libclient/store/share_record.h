// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "graphd/schema.h"
#include "graphd/tensor_spec.h"
#include "store/rows/table_spec.h"

namespace graphd::store {

// The description of a distributed tensor's share, which is stored with its table in
// TableSpec::attributes.
struct ShareRecord {
  TensorSpec spec;
  PartId part = 0;
  int32_t num_parts = 0;
  std::string job_id;    // the owner; empty if the tensor is persistent
  std::string holder;    // the job that holds the lease, or empty
  bool filled = true;    // whether the first values are written
  bool loading = false;  // whether a restore from a checkpoint is unfinished
  // `rows_of` names the nodes or edges that have the rows, in words. `owners` is a checksum of the
  // owners of the ids, if the partition book is mapped. With TableSpec::first_id, they show whether
  // the rows belong to another version of the graph. They are empty and 0 if the tensor was created
  // before graphd stored them.
  std::string rows_of = {};
  uint64_t owners = 0;
};

// Returns the name of a share's table, which consists of partition, job and tensor name.
std::string TableName(PartId part, const std::string& job_id, const std::string& name);

std::string EncodeRecord(const ShareRecord& record);
// Throws Error(kCorrupt).
ShareRecord DecodeRecord(const TableSpec& table, const std::string& attributes);

}  // namespace graphd::store
