// SPDX-License-Identifier: Apache-2.0
#include "graphd/partition_book.h"

#include <algorithm>

#include "base/index.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Returns the position of the first element > value. With the usual few partitions, the array has
// only a few cache lines, and a scan without branches is faster than a binary search.
size_t UpperBound(const std::vector<int64_t>& sorted, int64_t value) {
  if (sorted.size() <= 16) {
    size_t below = 0;
    for (int64_t element : sorted) below += element <= value;
    return below;
  }
  return static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), value) -
                             sorted.begin());
}

}  // namespace

IdMap IdMap::FromRanges(const char* what, std::vector<std::vector<Range>> ranges) {
  IdMap map;
  map.what_ = what;
  map.num_types_ = static_cast<int32_t>(ranges.size());
  if (ranges.empty() || ranges[0].empty()) {
    Throw(ErrorCode::kCorrupt, what, "_map: no types or no partitions");
  }
  map.num_parts_ = static_cast<int32_t>(ranges[0].size());
  int64_t expected = 0;
  for (size_t p = 0; p < ranges[0].size(); p++) {
    for (size_t t = 0; t < ranges.size(); t++) {
      if (ranges[t].size() != ranges[0].size()) {
        Throw(ErrorCode::kCorrupt, what, "_map: type ", t, " has ", ranges[t].size(),
              " ranges, expected one per partition (", ranges[0].size(), ")");
      }
      const Range& range = ranges[t][p];
      if (range.begin < 0 || range.end < range.begin ||
          (range.size() > 0 && range.begin != expected)) {
        Throw(ErrorCode::kCorrupt, what, "_map: type ", t, ", partition ", p, " has [", range.begin,
              ", ", range.end, "), expected a range that begins at ", expected);
      }
      expected += range.size();
      map.flat_ends_.push_back(expected);
    }
    map.last_.push_back(expected);
  }
  map.total_ = expected;
  // A file may give an empty range any position, as in DGL. This loop moves each empty range to the
  // position that ids of its partition and type would have.
  for (size_t t = 0; t < ranges.size(); t++) {
    std::vector<int64_t> cumulative{0};
    for (size_t p = 0; p < ranges[t].size(); p++) {
      const int64_t end = map.flat_ends_[p * ranges.size() + t];
      ranges[t][p] = {end - ranges[t][p].size(), end};
      cumulative.push_back(cumulative.back() + ranges[t][p].size());
    }
    map.cum_.push_back(std::move(cumulative));
  }
  map.ranges_ = std::move(ranges);
  return map;
}

IdMap IdMap::FromOwners(const char* what, std::vector<int32_t> owner, int32_t num_parts) {
  IdMap map;
  map.what_ = what;
  map.num_types_ = 1;
  map.num_parts_ = num_parts;
  map.total_ = static_cast<int64_t>(owner.size());
  map.ids_.resize(Index(num_parts));
  map.row_.resize(owner.size());
  for (size_t x = 0; x < owner.size(); x++) {
    if (owner[x] < 0 || owner[x] >= num_parts) {
      Throw(ErrorCode::kCorrupt, what, "_map: ", what, " ", x, " belongs to partition ", owner[x],
            ", expected 0..", num_parts - 1);
    }
    auto& ids = map.ids_[Index(owner[x])];
    map.row_[x] = static_cast<int64_t>(ids.size());
    ids.push_back(static_cast<int64_t>(x));
  }
  map.owner_ = std::move(owner);
  if (map.owner_.empty()) Throw(ErrorCode::kCorrupt, what, "_map: it contains no ", what);
  return map;
}

void IdMap::OutOfRange(const char* space, int64_t id, int64_t limit) const {
  Throw(ErrorCode::kInvalid, space, what_, " id ", id, " is outside 0..", limit - 1);
}

void IdMap::CheckType(int32_t type) const {
  if (type < 0 || type >= num_types_) {
    Throw(ErrorCode::kInvalid, what_, " type ", type, " is outside 0..", num_types_ - 1);
  }
}

void IdMap::CheckPart(PartId part) const {
  if (part < 0 || part >= num_parts_) {
    Throw(ErrorCode::kInvalid, "partition ", part, " is outside 0..", num_parts_ - 1);
  }
}

int64_t IdMap::count(int32_t type) const {
  CheckType(type);
  return is_range() ? cum_[Index(type)].back() : total_;
}

int64_t IdMap::count_in(PartId part) const {
  CheckPart(part);
  if (!is_range()) return static_cast<int64_t>(ids_[Index(part)].size());
  return last_[Index(part)] - (part ? last_[Index(part) - 1] : 0);
}

int64_t IdMap::count_in(PartId part, int32_t type) const {
  CheckPart(part);
  CheckType(type);
  return is_range() ? ranges_[Index(type)][Index(part)].size() : count_in(part);
}

PartId IdMap::OwnerOfHomo(int64_t h) const {
  if (h < 0 || h >= total_) OutOfRange("homogeneous ", h, total_);
  return is_range() ? static_cast<int32_t>(UpperBound(last_, h)) : owner_[Index(h)];
}

PartId IdMap::Owner(int32_t type, int64_t x) const {
  if (x < 0 || x >= count(type)) OutOfRange("", x, count(type));
  if (!is_range()) return owner_[Index(x)];
  return static_cast<PartId>(UpperBound(cum_[Index(type)], x)) - 1;
}

std::pair<int32_t, int64_t> IdMap::ToTyped(int64_t h) const {
  if (h < 0 || h >= total_) OutOfRange("homogeneous ", h, total_);
  if (!is_range()) return {0, h};
  const size_t flat = UpperBound(flat_ends_, h);
  const size_t type = flat % Index(num_types_), part = flat / Index(num_types_);
  return {static_cast<int32_t>(type), h - ranges_[type][part].begin + cum_[type][part]};
}

int64_t IdMap::ToHomo(int32_t type, int64_t x) const {
  const PartId part = Owner(type, x);
  if (!is_range()) return x;
  return ranges_[Index(type)][Index(part)].begin + x - cum_[Index(type)][Index(part)];
}

int64_t IdMap::LocalRow(int32_t type, int64_t x) const {
  const PartId part = Owner(type, x);
  return is_range() ? x - cum_[Index(type)][Index(part)] : row_[Index(x)];
}

int64_t IdMap::LocalHomo(int64_t h) const {
  const PartId part = OwnerOfHomo(h);
  if (!is_range()) return row_[Index(h)];
  return h - (part ? last_[Index(part) - 1] : 0);
}

int64_t IdMap::FromLocalRow(PartId part, int32_t type, int64_t row) const {
  const int64_t rows = count_in(part, type);
  if (row < 0 || row >= rows) OutOfRange("local ", row, rows);
  return is_range() ? cum_[Index(type)][Index(part)] + row : ids_[Index(part)][Index(row)];
}

std::vector<int64_t> IdMap::IdsOf(PartId part, int32_t type) const {
  std::vector<int64_t> ids(Index(count_in(part, type)));
  for (size_t row = 0; row < ids.size(); row++) {
    ids[row] = FromLocalRow(part, type, static_cast<int64_t>(row));
  }
  return ids;
}

int64_t IdMap::type_begin(PartId part, int32_t type) const {
  CheckPart(part);
  CheckType(type);
  if (!is_range()) Throw(ErrorCode::kInvalid, "a mapped partition book has no ranges");
  return cum_[Index(type)][Index(part)];
}

PartitionBook::PartitionBook(IdMap nodes, IdMap edges)
    : nodes_(NodeMap(std::move(nodes))), edges_(EdgeMap(std::move(edges))) {
  if (nodes_.num_parts() != edges_.num_parts()) {
    Throw(ErrorCode::kCorrupt, "node_map has ", nodes_.num_parts(), " partitions, edge_map ",
          edges_.num_parts());
  }
}

}  // namespace graphd
