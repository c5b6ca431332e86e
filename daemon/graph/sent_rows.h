// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "graph/feature_table.h"
#include "sampling/gather.h"

namespace graphd {

// The rows of a feature in the form in which they are sent: in their stored encoding if the client
// can decode them, and otherwise decoded. This is a view of the table, which must outlive it.
class SentRows {
 public:
  SentRows(const FeatureTable& table, bool encoded)
      : table_(&table), encoded_(encoded && !table.encoding().is_plain()) {}

  int64_t num_rows() const noexcept { return table_->num_rows(); }
  size_t row_bytes() const noexcept {
    return encoded_ ? table_->stored().row_bytes() : table_->row_bytes();
  }
  // Copies rows side by side.
  void Gather(std::span<const int64_t> rows, std::byte* out) const noexcept {
    if (!encoded_) return GatherRows(*table_, rows, {}, out);
    GatherRows(table_->stored().data(), row_bytes(), rows, {}, out);
  }
  // Copies the rows begin <= row < begin + count.
  void Read(int64_t begin, int64_t count, std::byte* out) const noexcept {
    if (!encoded_) return table_->Read(begin, count, out);
    if (count == 0) return;
    std::memcpy(out, table_->stored().data() + static_cast<size_t>(begin) * row_bytes(),
                static_cast<size_t>(count) * row_bytes());
  }

 private:
  const FeatureTable* table_;
  bool encoded_;
};

}  // namespace graphd
