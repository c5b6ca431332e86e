// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/owner_lookup.h"

#include <algorithm>

#include "base/index.h"

namespace graphd::ctl {

OwnerLookup::OwnerLookup(const NodeMap& nodes, NodeTypeId type, PartId home)
    : home_(home), owners_(nodes.owners()) {
  if (!nodes.is_range()) return;
  home_begin_ = Index(nodes.type_begin(home, type));
  home_count_ = Index(nodes.count_in(home, type));
  for (PartId p = 0; p < nodes.num_parts(); p++) {
    ends_.push_back(Index(nodes.type_begin(p, type) + nodes.count_in(p, type)));
  }
}

PartId OwnerLookup::Search(uint64_t node) const noexcept {
  if (ends_.empty()) return owners_[node];
  return static_cast<PartId>(std::upper_bound(ends_.begin(), ends_.end(), node) - ends_.begin());
}

}  // namespace graphd::ctl
