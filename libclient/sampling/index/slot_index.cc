// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/slot_index.h"

#include <algorithm>
#include <numeric>

#include "base/threads/watched_thread.h"
#include "sampling/index/index_arrays.h"

namespace graphd {

std::shared_ptr<const Segment> BuildInverseIndex(const Csc& csc) {
  const auto num_edges = static_cast<int64_t>(csc.indices.size());
  SegmentLayout layout;
  layout.Add("slots", Partition::IdDType(num_edges), {num_edges});
  SegmentWriter writer("graphd-index-inverse", std::move(layout));
  const auto fill = [&](auto slots) {
    using T = typename decltype(slots)::value_type;
    csc.edge_rows->Visit([&](auto rows) {
      ForPieces(rows.size(), [&](size_t first, size_t last) {
        for (size_t slot = first; slot < last; slot++) slots[rows[slot]] = static_cast<T>(slot);
      });
    });
  };
  if (Partition::IdDType(num_edges) == DType::kUInt32) {
    fill(writer.array<uint32_t>("slots"));
  } else {
    fill(writer.array<uint64_t>("slots"));
  }
  return std::move(writer).Seal();
}

InverseIndex::InverseIndex(std::shared_ptr<const Segment> segment, const Csc& csc)
    : segment_(std::move(segment)),
      slots_(IndexIds(*segment_, "inverse", "slots", static_cast<int64_t>(csc.indices.size()))) {}

std::shared_ptr<const Segment> BuildSortedIndex(const Csc& csc) {
  SegmentLayout layout;
  layout.Add("order", DType::kUInt32, {static_cast<int64_t>(csc.indices.size())});
  SegmentWriter writer("graphd-index-sorted", std::move(layout));
  const auto order = writer.array<uint32_t>("order");
  csc.indices.Visit([&](auto indices) {
    ForRows(csc.indptr, [&](size_t first, size_t last) {
      for (size_t row = first; row < last; row++) {
        const auto neighbors =
            indices.subspan(csc.indptr[row], csc.indptr[row + 1] - csc.indptr[row]);
        const auto sorted = order.subspan(csc.indptr[row], neighbors.size());
        std::iota(sorted.begin(), sorted.end(), 0u);
        std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
          return neighbors[a] != neighbors[b] ? neighbors[a] < neighbors[b] : a < b;
        });
      }
    });
  });
  return std::move(writer).Seal();
}

SortedIndex::SortedIndex(std::shared_ptr<const Segment> segment, const Csc& csc)
    : segment_(std::move(segment)) {
  order_ = IndexArray(*segment_, "sorted", "order", DType::kUInt32,
                      {static_cast<int64_t>(csc.indices.size())})
               .as<uint32_t>();
}

bool RowsAreSorted(const Csc& csc) noexcept {
  constexpr size_t kRowsPerProgress = size_t{1} << 14;
  return csc.indices.Visit([&](auto indices) {
    for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
      if (row % kRowsPerProgress == 0) WatchedThread::CountProgress();
      const auto neighbors =
          indices.subspan(csc.indptr[row], csc.indptr[row + 1] - csc.indptr[row]);
      if (!std::is_sorted(neighbors.begin(), neighbors.end())) return false;
    }
    return true;
  });
}

}  // namespace graphd
