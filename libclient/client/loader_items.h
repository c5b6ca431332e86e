// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graphd/dist_graph.h"

// Nodes or edges of several types as items of one dataset: homogeneous ids, which carry their
// types. (The same as type-wise ones where there is one type.)

namespace graphd {

// Items of lists by type, one list after another. Throws Error(kInvalid) on a number of lists that
// is not that of the types, and on ids out of range.
std::vector<int64_t> NodeItems(const DistGraph& graph, std::vector<std::vector<int64_t>> nids);
std::vector<int64_t> EdgeItems(const DistGraph& graph, std::vector<std::vector<int64_t>> eids);

// Lists by type again.
std::vector<std::vector<int64_t>> ByType(const IdMap& map, std::span<const int64_t> items);

// Lists by type of which only one is given. Throws Error(kInvalid) if `type` is none of `types`;
// `what` is "node" or "edge".
std::vector<std::vector<int64_t>> OfOneType(std::vector<int64_t> ids, int32_t type, int32_t types,
                                            const char* what);

}  // namespace graphd
