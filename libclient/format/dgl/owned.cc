// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/owned.h"

#include <algorithm>

namespace graphd {
namespace {

uint64_t OffsetOf(const DglArray& array, size_t i) {
  return array.offset + i * DTypeSize(array.dtype);
}

template <class... Args>
[[noreturn]] void Fail(const DglOwned::Source& source, const DglArray& column, size_t i,
                       const Args&... args) {
  Throw(ErrorCode::kCorrupt, source.path, ", offset ", OffsetOf(column, i), ": ", source.what, " ",
        i, " ", args...);
}

// Returns the column, or null if the file does not have it.
const DglArray* OptionalColumn(const DglOwned::Source& source, const char* name) {
  return FindDglArray(source.columns, name) ? &DglIdColumn(source, name) : nullptr;
}

}  // namespace

const DglArray& DglIdColumn(const DglOwned::Source& source, const char* name) {
  const DglArray* column = FindDglArray(source.columns, name);
  if (!column) {
    Throw(ErrorCode::kCorrupt, source.path, ": no ", source.what, " column '", name,
          "', expected one: DGL did not write this partition");
  }
  if (column->shape.size() != 1 || !IsInteger(column->dtype)) {
    Throw(ErrorCode::kCorrupt, source.path, ", offset ", column->offset, ": ", source.what,
          " column '", name, "' holds ", DTypeName(column->dtype), " in ", column->shape.size(),
          " dimensions, expected integers in one");
  }
  return *column;
}

DglOwned::DglOwned(const Source& source, const IdMap& map, PartId part) {
  const DglArray& ids = DglIdColumn(source, "_ID");
  size_ = static_cast<size_t>(map.count_in(part));
  if (static_cast<int64_t>(size_) > ids.num_elements()) {
    Throw(ErrorCode::kCorrupt, source.path, ", offset ", ids.offset, ": ", ids.num_elements(), " ",
          source.what, "s, expected the ", size_, " that the part config gives partition ", part);
  }
  const bool in_order =
      map.is_range() && VisitIntegers(ids.dtype, ids.data, [&](auto column) {
        const auto first = static_cast<uint64_t>(map.ranges()[0][static_cast<size_t>(part)].begin);
        bool ordered = true;
        for (size_t i = 0; i < size_; i++) {
          ordered &= static_cast<uint64_t>(column[i]) == first + i;
        }
        for (size_t i = size_; i < column.size(); i++) {
          CheckId(source, ids, map, i, static_cast<int64_t>(column[i]));
          ordered &= static_cast<uint64_t>(column[i]) - first >= size_;
        }
        return ordered;
      });
  if (!in_order) BuildTables(source, ids, map, part);
  CheckFlags(source);
  CheckTypes(source, map, part);
}

void DglOwned::CheckId(const Source& source, const DglArray& ids, const IdMap& map, size_t i,
                       int64_t id) const {
  if (id < 0 || id >= map.total()) {
    Fail(source, ids, i, "has the id ", id, ", expected 0..", map.total() - 1);
  }
}

void DglOwned::BuildTables(const Source& source, const DglArray& ids, const IdMap& map,
                           PartId part) {
  VisitIntegers(ids.dtype, ids.data, [&](auto column) {
    position_.assign(column.size(), kNotOwned);
    local_.assign(size_, kNotOwned);
    for (size_t i = 0; i < column.size(); i++) {
      const auto id = static_cast<int64_t>(column[i]);
      CheckId(source, ids, map, i, id);
      if (map.OwnerOfHomo(id) != part) continue;
      const auto position = static_cast<size_t>(map.LocalHomo(id));
      if (local_[position] != kNotOwned) {
        Fail(source, ids, i, "has the id ", id, ", as ", source.what, " ", local_[position],
             " has");
      }
      local_[position] = i;
      position_[i] = position;
    }
  });
  for (size_t position = 0; position < size_; position++) {
    if (local_[position] == kNotOwned) {
      Throw(ErrorCode::kCorrupt, source.path, ", offset ", ids.offset, ": column _ID lacks the ",
            position, "th ", source.what, " that the part config gives partition ", part,
            "; part config and graph file come from different partitionings, or are damaged");
    }
  }
}

void DglOwned::CheckFlags(const Source& source) const {
  const DglArray* inner = OptionalColumn(source, source.inner_column);
  if (!inner) return;
  VisitIntegers(inner->dtype, inner->data, [&](auto column) {
    for (size_t i = 0; i < column.size(); i++) {
      const bool owned = Position(i) != kNotOwned;
      if ((column[i] != 0) != owned) {
        Fail(source, *inner, i, "has ", source.inner_column, " = ", +column[i],
             ", but the part config says that it is ", owned ? "" : "not ", "owned");
      }
    }
  });
}

void DglOwned::CheckTypes(const Source& source, const IdMap& map, PartId part) const {
  const DglArray* types = OptionalColumn(source, "_TYPE");
  if (!types) return;
  VisitIntegers(types->dtype, types->data, [&](auto column) {
    size_t position = 0;
    for (int32_t type = 0; type < map.num_types(); type++) {
      const size_t end = position + static_cast<size_t>(map.count_in(part, type));
      for (; position < end; position++) {
        const size_t i = Local(position);
        if (static_cast<int64_t>(column[i]) != type) {
          Fail(source, *types, i, "has _TYPE = ", +column[i], ", expected ", type,
               " by the part config");
        }
      }
    }
  });
}

std::vector<uint64_t> DglOwned::FileRows(const IdMap& map, PartId part) const {
  std::vector<uint64_t> rows;
  if (in_order()) return rows;
  std::vector<uint64_t> ends, next(static_cast<size_t>(map.num_types()), 0);
  for (int32_t t = 0; t < map.num_types(); t++) {
    ends.push_back((t ? ends.back() : 0) + static_cast<uint64_t>(map.count_in(part, t)));
  }
  rows.resize(size_);
  for (uint64_t position : position_) {
    if (position == kNotOwned) continue;
    const auto type = std::upper_bound(ends.begin(), ends.end(), position) - ends.begin();
    rows[position] = next[static_cast<size_t>(type)]++;
  }
  return rows;
}

}  // namespace graphd
