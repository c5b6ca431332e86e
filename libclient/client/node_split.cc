// SPDX-License-Identifier: Apache-2.0
#include "graphd/node_split.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr int64_t kRowsAtOnce = int64_t{32} << 20;

// Appends the ids in [begin, end) whose mask is set.
void AppendSet(const DistTensor& mask, int64_t begin, int64_t end, std::vector<int64_t>& ids) {
  for (int64_t from = begin; from < end; from += kRowsAtOnce) {
    const int64_t to = std::min(end, from + kRowsAtOnce);
    const Tensor some = mask.Slice(from, to);
    for (int64_t i = from; i < to; i++) {
      if (some.data()[i - from] != std::byte{0}) ids.push_back(i);
    }
  }
}

// Piece `index` of `count` pieces whose sizes differ by at most 1.
std::vector<int64_t> Piece(const std::vector<int64_t>& ids, int64_t index, int64_t count) {
  const auto size = static_cast<int64_t>(ids.size());
  const int64_t small = size / count, longer = size % count;
  const int64_t begin = index * small + std::min(index, longer);
  return {ids.begin() + begin, ids.begin() + begin + small + (index < longer ? 1 : 0)};
}

}  // namespace

std::vector<int64_t> NodeSplit(const DistGraph& graph, const DistTensor& mask, bool force_even,
                               NodeTypeId ntype) {
  if (mask.dtype() != DType::kUInt8 && mask.dtype() != DType::kBool) {
    Throw(ErrorCode::kInvalid, "mask '", mask.name(), "' holds ", DTypeName(mask.dtype()),
          ", expected uint8 or bool");
  }
  if (mask.shape().size() != 1 || mask.num_rows() != graph.num_nodes(ntype)) {
    Throw(ErrorCode::kInvalid, "mask '", mask.name(), "' has ", mask.num_rows(), " rows in ",
          mask.shape().size(), " dimensions, expected one per node (", graph.num_nodes(ntype), ")");
  }
  const Options& options = graph.session()->options();
  std::vector<int64_t> ids;
  if (force_even) {
    AppendSet(mask, 0, mask.num_rows(), ids);
    return Piece(ids, options.rank, options.world_size);
  }
  const IdMap& nodes = graph.partition_book().nodes();
  const PartId part = graph.local_partition();
  if (nodes.is_range()) {
    const int64_t begin = nodes.type_begin(part, ntype);
    AppendSet(mask, begin, begin + nodes.count_in(part, ntype), ids);
  } else {
    AppendSet(mask, 0, mask.num_rows(), ids);
    std::erase_if(ids, [&](int64_t id) { return nodes.Owner(ntype, id) != part; });
  }
  return Piece(ids, options.local_rank, options.local_world_size);
}

}  // namespace graphd
