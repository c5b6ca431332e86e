// SPDX-License-Identifier: Apache-2.0
#include "graphd/schema.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {

Schema::Schema(std::vector<std::string> ntypes, std::vector<CanonicalEdgeType> etypes)
    : ntypes_(std::move(ntypes)), etypes_(std::move(etypes)) {
  if (ntypes_.empty()) Throw(ErrorCode::kInvalid, "a graph needs at least one node type");
  for (size_t i = 0; i < ntypes_.size(); i++) {
    if (std::count(ntypes_.begin(), ntypes_.end(), ntypes_[i]) > 1) {
      Throw(ErrorCode::kInvalid, "node type '", ntypes_[i], "' is listed twice");
    }
  }
  for (const CanonicalEdgeType& etype : etypes_) {
    if (std::count(etypes_.begin(), etypes_.end(), etype) > 1) {
      Throw(ErrorCode::kInvalid, "edge type '", etype.ToString(), "' is listed twice");
    }
    for (const std::string& end : {etype.src, etype.dst}) {
      if (std::count(ntypes_.begin(), ntypes_.end(), end) == 0) {
        Throw(ErrorCode::kInvalid, "edge type '", etype.ToString(), "': no node type '", end,
              "'; there are: ", Join(ntypes_, ", "));
      }
    }
    src_.push_back(NodeTypeIdOf(etype.src));
    dst_.push_back(NodeTypeIdOf(etype.dst));
  }
}

NodeTypeId Schema::NodeTypeIdOf(const std::string& name) const {
  auto found = std::find(ntypes_.begin(), ntypes_.end(), name);
  if (found == ntypes_.end()) {
    Throw(ErrorCode::kNotFound, "no node type '", name, "'; there are: ", Join(ntypes_, ", "));
  }
  return static_cast<NodeTypeId>(found - ntypes_.begin());
}

EdgeTypeId Schema::EdgeTypeIdOf(const std::string& name) const {
  EdgeTypeId found = -1;
  std::vector<std::string> names;
  for (EdgeTypeId e = 0; e < num_etypes(); e++) {
    const CanonicalEdgeType& candidate = etype(e);
    names.push_back(candidate.ToString());
    if (names.back() == name) return e;
    if (candidate.rel != name) continue;
    if (found >= 0) {
      Throw(ErrorCode::kInvalid, "edge type '", name, "' is ambiguous: ", etype(found).ToString(),
            " or ", candidate.ToString(), "; give the whole name");
    }
    found = e;
  }
  if (found < 0) {
    Throw(ErrorCode::kNotFound, "no edge type '", name, "'; there are: ", Join(names, ", "));
  }
  return found;
}

}  // namespace graphd
