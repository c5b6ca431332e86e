// SPDX-License-Identifier: Apache-2.0
#include "client/routing/owner_split.h"

#include <algorithm>

#include "client/routing/check_ids.h"

namespace graphd {

void OwnerSplit::Assign(const TypeIds& of, std::span<const int64_t> ids, const char* what) {
  const IdMap& map = of.map();
  const int32_t type = of.type();
  const auto num_parts = static_cast<size_t>(map.num_parts());
  parts.resize(num_parts);
  owners.resize(ids.size());
  for (Part& part : parts) {
    part.ids.clear();
    part.positions.clear();
  }
  CheckIds(ids, map.count(type), what);
  if (num_parts == 1) {
    std::fill(owners.begin(), owners.end(), 0);
  } else if (num_parts == 2 && map.is_range()) {
    const int64_t boundary = map.type_begin(1, type);
    for (size_t i = 0; i < ids.size(); i++) owners[i] = ids[i] >= boundary;
  } else {
    for (size_t i = 0; i < ids.size(); i++) owners[i] = map.Owner(type, ids[i]);
  }
  for (size_t i = 0; i < ids.size(); i++) {
    Part& part = parts[static_cast<size_t>(owners[i])];
    part.ids.push_back(ids[i]);
    part.positions.push_back(static_cast<int64_t>(i));
  }
}

void LocalRows(const TypeIds& of, PartId part, std::span<const int64_t> ids,
               std::vector<int64_t>& rows) {
  const IdMap& map = of.map();
  const int32_t type = of.type();
  rows.resize(ids.size());
  if (map.is_range()) {
    const int64_t first = map.type_begin(part, type);
    for (size_t i = 0; i < ids.size(); i++) rows[i] = ids[i] - first;
  } else {
    for (size_t i = 0; i < ids.size(); i++) rows[i] = map.LocalRow(type, ids[i]);
  }
}

}  // namespace graphd
