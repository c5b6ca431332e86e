// SPDX-License-Identifier: Apache-2.0
#include "format/renumber.h"

#include <algorithm>

namespace graphd {
namespace {

template <class Id>
void FillNewIds(const std::vector<PartId>& owners, std::vector<int64_t> next, Tensor& new_ids) {
  const std::span<Id> ids = new_ids.as<Id>();
  for (size_t i = 0; i < owners.size(); i++) {
    ids[i] = static_cast<Id>(next[static_cast<size_t>(owners[i])]++);
  }
}

}  // namespace

NodeNumbering NumberNodes(const std::vector<PartId>& owners, PartId num_parts) {
  NodeNumbering numbering;
  numbering.first.assign(static_cast<size_t>(num_parts) + 1, 0);
  for (PartId owner : owners) numbering.first[static_cast<size_t>(owner) + 1]++;
  for (size_t p = 0; p + 1 < numbering.first.size(); p++) {
    numbering.first[p + 1] += numbering.first[p];
  }
  const auto count = static_cast<int64_t>(owners.size());
  numbering.new_ids = Tensor::Empty(Partition::IdDType(count), {count});
  if (numbering.new_ids.dtype() == DType::kUInt32) {
    FillNewIds<uint32_t>(owners, numbering.first, numbering.new_ids);
  } else {
    FillNewIds<uint64_t>(owners, numbering.first, numbering.new_ids);
  }
  return numbering;
}

std::vector<int64_t> OriginalIds(const std::vector<PartId>& owners, PartId part, int64_t count) {
  std::vector<int64_t> ids;
  ids.reserve(static_cast<size_t>(count));
  for (size_t i = 0; i < owners.size(); i++) {
    if (owners[i] == part) ids.push_back(static_cast<int64_t>(i));
  }
  return ids;
}

SortedEdges::SortedEdges(const RawEdges& edges, const NodeNumbering& src,
                         const NodeNumbering& dst) {
  const bool narrow = src.new_ids.dtype() == DType::kUInt32 && edges.count() <= int64_t{UINT32_MAX};
  if (narrow) {
    Sort(edges, src, dst, narrow_);
  } else {
    Sort(edges, src, dst, wide_);
  }
}

template <class Key>
void SortedEdges::Sort(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst,
                       std::vector<Key>& keys) {
  const IdSpan new_src(src.new_ids), new_dst(dst.new_ids);
  // Counting sort by destination, then each node's few edges by source.
  std::vector<uint64_t> next(new_dst.size() + 1, 0);
  edges.ForEach([&](size_t, uint64_t, uint64_t v) { next[new_dst[v] + 1]++; });
  for (size_t i = 0; i < new_dst.size(); i++) next[i + 1] += next[i];
  offsets_ = next;
  keys.resize(static_cast<size_t>(edges.count()));
  edges.ForEach([&](size_t edge, uint64_t u, uint64_t v) {
    keys[next[new_dst[v]]++] = Key(new_src[u], edge);
  });
  const auto at = [&](uint64_t position) {
    return keys.begin() + static_cast<std::ptrdiff_t>(position);
  };
  for (size_t p = 0; p + 1 < dst.first.size(); p++) {
    const auto own_begin = static_cast<uint64_t>(src.first[p]);
    const auto own_end = static_cast<uint64_t>(src.first[p + 1]);
    for (auto v = static_cast<size_t>(dst.first[p]); v < static_cast<size_t>(dst.first[p + 1]);
         v++) {
      std::sort(at(offsets_[v]), at(offsets_[v + 1]));
      for (uint64_t i = offsets_[v]; i < offsets_[v + 1]; i++) {
        edge_cut_ += keys[i].src() < own_begin || keys[i].src() >= own_end;
      }
    }
  }
}

}  // namespace graphd
