// SPDX-License-Identifier: Apache-2.0
#include "client/loaders/split_columns.h"

#include <cstring>

#include "base/strings.h"
#include "graphd/node_split.h"

namespace graphd {

OwnedIds::OwnedIds(const IdMap& map, int32_t type) : map_(&map), type_(type) {
  // Maps made by IdMap::FromOwners have one type, and its ids equal the homogeneous ids.
  if (type == kHomogeneous && !map.is_range()) type_ = 0;
  if (type_ < kHomogeneous || type_ >= map.num_types()) {
    Throw(ErrorCode::kInvalid, "type ", type, " is outside 0..", map.num_types() - 1);
  }
  for (PartId p = 0; p < map.num_parts(); p++) {
    const bool all = type_ == kHomogeneous;
    counts_.push_back(all ? map.count_in(p) : map.count_in(p, type_));
    if (map.is_range()) firsts_.push_back(all ? count_ : map.type_begin(p, type_));
    count_ += counts_.back();
  }
}

std::vector<int64_t> OwnedIds::Ids(PartId part, int64_t from, int64_t to) const {
  std::vector<int64_t> ids(static_cast<size_t>(to - from));
  for (int64_t row = from; row < to; row++) {
    ids[static_cast<size_t>(row - from)] =
        is_range() ? FirstOf(part) + row : map_->FromLocalRow(part, type_, row);
  }
  return ids;
}

ReadRows RowsOf(const DistTensor& column, const OwnedIds& ids) {
  return [&column, &ids](PartId part, int64_t from, int64_t to) {
    if (!ids.is_range()) return column.Read(ids.Ids(part, from, to));
    return column.Slice(ids.FirstOf(part) + from, ids.FirstOf(part) + to);
  };
}

ReadRows RowsOf(const Tensor& column, const OwnedIds& ids) {
  return [&column, &ids](PartId part, int64_t from, int64_t to) {
    const auto size = static_cast<int64_t>(DTypeSize(column.dtype()));
    if (ids.is_range()) {
      Tensor shared = column;
      return Tensor(column.dtype(), {to - from}, shared.data() + (ids.FirstOf(part) + from) * size,
                    column.owner());
    }
    Tensor rows = Tensor::Empty(column.dtype(), {to - from});
    std::byte* out = rows.data();
    for (int64_t id : ids.Ids(part, from, to)) {
      std::memcpy(out, column.data() + id * size, static_cast<size_t>(size));
      out += size;
    }
    return rows;
  };
}

}  // namespace graphd
