// SPDX-License-Identifier: Apache-2.0
#include "format/partition/node_numbering.h"

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

std::vector<int64_t> NodeNumbering::Counts() const {
  std::vector<int64_t> counts;
  for (size_t p = 0; p + 1 < first.size(); p++) counts.push_back(first[p + 1] - first[p]);
  return counts;
}

NodeNumbering NumberNodes(const std::vector<PartId>& owners, int32_t num_parts) {
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

}  // namespace graphd
