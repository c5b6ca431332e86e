// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor_rows.h"
#include "graph/tensor_share.h"
#include "store/rows/table_spec.h"
#include "store/share_record.h"

namespace graphd::store {

// The mapping of shares to tables of the store, for the graph and the partitions that are served. A
// share is the part of a distributed tensor that belongs to one partition. Thread-safe: nothing
// changes after construction.
class ShareLayout {
 public:
  ShareLayout(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts)
      : meta_(std::move(meta)), parts_(std::move(parts)) {}

  const GraphMeta& meta() const noexcept { return *meta_; }
  bool Serves(PartId part) const noexcept;
  // Returns the layout for the same partitions of another version of the graph.
  ShareLayout For(std::shared_ptr<const GraphMeta> meta) const {
    return ShareLayout(std::move(meta), parts_);
  }
  // Returns why a share, which may have been created with another version of the graph, does not
  // suit this version: the tensor has another number of rows, or other partitions own them. Returns
  // an empty text if the share suits.
  std::string WhyUnsuited(const ShareRecord& record, const TensorRows& rows) const;

  // Returns the rows of a tensor that CheckTensorSpec accepts.
  TensorRows Rows(const TensorSpec& spec) const { return RowsOf(meta_, spec); }
  // Returns the rows of a share that was stored earlier. Throws Error(kInvalid) unless the table is
  // a share of the graph that is served, with the same rows.
  TensorRows RowsOfStored(const ShareRecord& record, const TableSpec& table) const;
  // Returns the type-wise id of each row of a stored share, or zeros if RowsOfStored rejects it.
  std::vector<int64_t> IdsOf(const TableSpec& table) const;

  // Returns the record of a new share.
  ShareRecord RecordFor(const TensorSpec& spec, PartId part, const std::string& job_id, bool filled,
                        const TensorRows& rows) const;
  // Returns the description of the table for a new share.
  TableSpec TableFor(const ShareRecord& record, const TensorRows& rows) const;
  // Throws Error(kOverloaded) if the machine lacks the memory that the table needs when it is
  // created, before any row is used.
  static void CheckMemoryFor(const TableSpec& table);
  // Throws Error(kInvalid), naming the differences, if an existing tensor differs from the
  // requested one.
  void CheckSame(const TensorSpec& existing, const TensorSpec& wanted) const;

 private:
  std::string RowsOfText(const TensorSpec& spec) const;

  const std::shared_ptr<const GraphMeta> meta_;
  const std::vector<PartId> parts_;
};

}  // namespace graphd::store
