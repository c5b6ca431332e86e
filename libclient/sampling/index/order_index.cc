// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/order_index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/prefetch.h"
#include "base/threads/watched_thread.h"
#include "sampling/index/index_arrays.h"
#include "sampling/index/numbers.h"

namespace graphd {
namespace {

// Returns the dtype in which a column's values are stored.
DType StoredDType(DType column) {
  switch (column) {
    case DType::kFloat16:
    case DType::kBFloat16:
      return DType::kFloat32;
    case DType::kBool:
      return DType::kUInt8;
    default:
      return column;
  }
}

// Returns the column, with 16-bit floats converted to float32.
Tensor Widened(const Tensor& column) {
  if (column.dtype() != DType::kFloat16 && column.dtype() != DType::kBFloat16) return column;
  Tensor wide = Tensor::Empty(DType::kFloat32, column.shape());
  const auto* bits = reinterpret_cast<const uint16_t*>(column.data());
  const bool half = column.dtype() == DType::kFloat16;
  for (float& value : wide.as<float>()) {
    value = half ? FromHalf(*bits) : FromBrainFloat(*bits);
    bits++;
  }
  return wide;
}

template <class T>
class RowSorter {
 public:
  RowSorter(const Csc& csc, std::span<const T> column) : csc_(csc), column_(column) {}

  // Sorts one row; returns the edge row of the first NaN found, or -1 if there is none.
  int64_t Sort(uint64_t begin, uint64_t end, uint32_t* order, T* values) {
    entries_.resize(end - begin);
    for (size_t i = 0; i < entries_.size(); i++) {
      const uint64_t edge = csc_.edge_rows ? (*csc_.edge_rows)[begin + i] : begin + i;
      if (column_[edge] != column_[edge]) return static_cast<int64_t>(edge);
      entries_[i] = {column_[edge], edge, static_cast<uint32_t>(i)};
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.value != b.value ? a.value < b.value : a.edge < b.edge;
    });
    for (size_t i = 0; i < entries_.size(); i++) {
      order[i] = entries_[i].relative;
      values[i] = entries_[i].value;
    }
    return -1;
  }

 private:
  struct Entry {
    T value;
    uint64_t edge;
    uint32_t relative;
  };
  const Csc& csc_;
  std::span<const T> column_;
  std::vector<Entry> entries_;
};

// Returns whether a < b, compared exactly, for any two arithmetic types.
template <class A, class B>
bool Less(A a, B b) {
  if constexpr (std::integral<A> && std::integral<B>) {
    return std::cmp_less(a, b);
  } else if constexpr (std::floating_point<A> && std::floating_point<B>) {
    return a < b;
  } else {
    // long double represents every 64-bit integer and every double exactly.
    static_assert(std::numeric_limits<long double>::digits >= 64);
    return static_cast<long double>(a) < static_cast<long double>(b);
  }
}

}  // namespace

std::shared_ptr<const Segment> BuildOrderIndex(const Partition& partition, EdgeTypeId etype,
                                               const Csc& csc, const std::string& feature) {
  const auto num_edges = static_cast<int64_t>(csc.indices.size());
  const Tensor column = Widened(partition.edge_feature(etype, feature).ReadAll());
  SegmentLayout layout;
  layout.Add("order", DType::kUInt32, {num_edges});
  layout.Add("values", StoredDType(column.dtype()), {num_edges});
  SegmentWriter writer("graphd-index-order", std::move(layout));
  const auto order = writer.array<uint32_t>("order");
  VisitNumbers(column, [&](auto values) {
    using T = std::remove_const_t<typename decltype(values)::element_type>;
    const auto sorted = writer.array<T>("values");
    RowSorter<T> sorter(csc, values);
    ForRows(csc.indptr, [&](size_t first, size_t last) {
      for (size_t row = first; row < last; row++) {
        const uint64_t begin = csc.indptr[row];
        const int64_t bad =
            sorter.Sort(begin, csc.indptr[row + 1], order.data() + begin, sorted.data() + begin);
        if (bad >= 0) {
          Throw(ErrorCode::kInvalid, "feature '", feature, "' of edge type ",
                partition.meta().schema.etype(etype).ToString(), ": edge ",
                partition.meta().book.edges().FromLocalRow(partition.id(), etype, bad),
                " has value nan; expected a number");
        }
      }
    });
  });
  return std::move(writer).Seal();
}

OrderIndex::OrderIndex(std::shared_ptr<const Segment> segment, const Csc& csc)
    : segment_(std::move(segment)) {
  const auto num_edges = static_cast<int64_t>(csc.indices.size());
  order_ = IndexArray(*segment_, "order", "order", DType::kUInt32, {num_edges}).as<uint32_t>();
  const ArraySpec* values = segment_->layout().Find("values");
  const DType dtype = values ? StoredDType(values->dtype()) : DType::kFloat32;
  values_ = IndexArray(*segment_, "order", "values", dtype, {num_edges});
}

uint64_t OrderIndex::SortKey(uint64_t at) const noexcept {
  return VisitNumbers(values_, [&](auto values) { return SortKeyOf(values[at]); });
}

void OrderIndex::CountBefore(const Csc& csc, std::span<const int64_t> rows, const SeedTimes& times,
                             bool inclusive, std::span<uint64_t> counts) const noexcept {
  const uint64_t* indptr = csc.indptr.data();
  const auto count = [&](auto values, auto seed_times) {
    for (size_t i = 0; i < rows.size(); i++) {
      counts[i] = 0;
      if (i + kPrefetchAhead < rows.size() && rows[i + kPrefetchAhead] >= 0) {
        __builtin_prefetch(indptr + rows[i + kPrefetchAhead]);
      }
      const auto seed = seed_times[i];
      if (rows[i] < 0 || seed != seed) continue;
      const auto row = values.subspan(indptr[rows[i]], indptr[rows[i] + 1] - indptr[rows[i]]);
      const auto end = std::partition_point(row.begin(), row.end(), [&](auto value) {
        return inclusive ? !Less(seed, value) : Less(value, seed);
      });
      counts[i] = static_cast<uint64_t>(end - row.begin());
    }
  };
  VisitNumbers(values_, [&](auto values) {
    std::visit([&](auto seed_times) { count(values, seed_times); }, times);
  });
}

}  // namespace graphd
