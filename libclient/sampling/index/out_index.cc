// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/out_index.h"

#include <algorithm>
#include <bit>

#include "base/prefetch.h"
#include "base/threads/watched_thread.h"
#include "sampling/index/index_arrays.h"

namespace graphd {
namespace {

// A set of ids below a limit, which finds the rank of each id in the set. It has a bit per id and,
// for each word of these bits, the number of ones before it.
class RankedBits {
 public:
  explicit RankedBits(uint64_t limit) : words_(limit / 64 + 1), ranks_(limit / 64 + 1) {}
  void Set(uint64_t id) { words_[id / 64] |= uint64_t{1} << (id % 64); }
  // Returns the number of ones. Must be called before Rank.
  uint64_t Count() {
    uint64_t sum = 0;
    for (size_t i = 0; i < words_.size(); i++) {
      ranks_[i] = sum;
      sum += static_cast<uint64_t>(std::popcount(words_[i]));
    }
    return sum;
  }
  uint64_t Rank(uint64_t id) const {
    const uint64_t below = words_[id / 64] & ((uint64_t{1} << (id % 64)) - 1);
    return ranks_[id / 64] + static_cast<uint64_t>(std::popcount(below));
  }
  template <class F>
  void ForEach(F&& f) const {
    for (size_t i = 0; i < words_.size(); i++) {
      for (uint64_t word = words_[i]; word; word &= word - 1) {
        f(i * 64 + static_cast<uint64_t>(std::countr_zero(word)));
      }
    }
  }

 private:
  std::vector<uint64_t> words_, ranks_;
};

// Returns a shift such that the directory, with one entry per 2^shift ids, has about as many
// entries as there are rows.
unsigned DirectoryShift(uint64_t num_sources, uint64_t rows) {
  unsigned shift = 0;
  while ((num_sources >> shift) > rows + 1) shift++;
  return shift;
}

// Calls f(span of T) with an id array of the writer; T is its element type.
template <class F>
void VisitIds(SegmentWriter& writer, const char* name, F&& f) {
  if (writer.layout().Find(name)->dtype() == DType::kUInt32) {
    f(writer.array<uint32_t>(name));
  } else {
    f(writer.array<uint64_t>(name));
  }
}

void FillSources(const RankedBits& present, unsigned shift, SegmentWriter& writer) {
  VisitIds(writer, "sources", [&](auto sources) {
    using T = typename decltype(sources)::value_type;
    size_t row = 0;
    present.ForEach([&](uint64_t id) { sources[row++] = static_cast<T>(id); });
    VisitIds(writer, "directory", [&](auto directory) {
      using D = typename decltype(directory)::value_type;
      size_t at = 0;
      for (size_t step = 0; step < directory.size(); step++) {
        while (at < sources.size() && (uint64_t{sources[at]} >> shift) < step) at++;
        directory[step] = static_cast<D>(at);
      }
    });
  });
}

// Puts each edge into its source's row, in the order of the in-edges, which is by destination.
template <class Indices, class Rows>
void Place(const Partition& partition, EdgeTypeId etype, const RankedBits& present,
           std::span<uint64_t> indptr, Indices indices, Rows edge_rows) {
  const Csc& in = partition.csc(etype);
  const IdMap& nodes = partition.meta().book.nodes();
  const NodeTypeId dst = partition.meta().schema.dst_type(etype);
  using I = typename Indices::value_type;
  using R = typename Rows::value_type;
  in.indices.Visit([&](auto sources) {
    ForPieces(sources.size(), [&](size_t first, size_t last) {
      for (size_t slot = first; slot < last; slot++) indptr[present.Rank(sources[slot]) + 1]++;
    });
    // Now indptr[r + 1] is the next free place of row r. When all edges are placed, it is
    // therefore the end of the row.
    uint64_t sum = 0;
    for (size_t row = 1; row < indptr.size(); row++) {
      const uint64_t count = indptr[row];
      indptr[row] = sum;
      sum += count;
    }
    ForRows(in.indptr, [&](size_t first, size_t last) {
      for (size_t row = first; row < last; row++) {
        if (in.indptr[row] == in.indptr[row + 1]) continue;
        const int64_t id = nodes.FromLocalRow(partition.id(), dst, static_cast<int64_t>(row));
        for (uint64_t slot = in.indptr[row]; slot < in.indptr[row + 1]; slot++) {
          const uint64_t place = indptr[present.Rank(sources[slot]) + 1]++;
          indices[place] = static_cast<I>(id);
          edge_rows[place] = static_cast<R>(in.edge_rows ? (*in.edge_rows)[slot] : slot);
        }
      }
    });
  });
}

}  // namespace

std::shared_ptr<const Segment> BuildOutIndex(const Partition& partition, EdgeTypeId etype) {
  const Schema& schema = partition.meta().schema;
  const IdMap& nodes = partition.meta().book.nodes();
  const int64_t num_sources = nodes.count(schema.src_type(etype));
  const int64_t num_edges = partition.num_inner_edges(etype);
  RankedBits present(static_cast<uint64_t>(num_sources));
  partition.csc(etype).indices.Visit([&](auto sources) {
    ForPieces(sources.size(), [&](size_t first, size_t last) {
      for (size_t slot = first; slot < last; slot++) present.Set(sources[slot]);
    });
  });
  const auto rows = static_cast<int64_t>(present.Count());
  const unsigned shift =
      DirectoryShift(static_cast<uint64_t>(num_sources), static_cast<uint64_t>(rows));
  const int64_t steps = (num_sources >> shift) + 1;

  SegmentLayout layout;
  layout.Add("range", DType::kUInt64, {2});
  layout.Add("sources", Partition::IdDType(num_sources), {rows});
  layout.Add("directory", Partition::IdDType(rows), {steps + 1});
  layout.Add("indptr", DType::kUInt64, {rows + 1});
  layout.Add("indices", Partition::IdDType(nodes.count(schema.dst_type(etype))), {num_edges});
  layout.Add("edge_rows", Partition::IdDType(num_edges), {num_edges});
  SegmentWriter writer("graphd-index-out", std::move(layout));
  writer.array<uint64_t>("range")[0] = static_cast<uint64_t>(num_sources);
  writer.array<uint64_t>("range")[1] = shift;
  FillSources(present, shift, writer);
  VisitIds(writer, "indices", [&](auto indices) {
    VisitIds(writer, "edge_rows", [&](auto edge_rows) {
      Place(partition, etype, present, writer.array<uint64_t>("indptr"), indices, edge_rows);
    });
  });
  return std::move(writer).Seal();
}

OutIndex::OutIndex(std::shared_ptr<const Segment> segment) : segment_(std::move(segment)) {
  const Tensor range = IndexArray(*segment_, "out", "range", DType::kUInt64, {2});
  num_sources_ = range.as<uint64_t>()[0];
  const uint64_t shift = range.as<uint64_t>()[1];
  if (shift > 63 || num_sources_ > uint64_t{INT64_MAX}) {
    Throw(ErrorCode::kCorrupt, "out index: range of ", num_sources_, " sources in steps of 2^",
          shift);
  }
  shift_ = static_cast<unsigned>(shift);
  sources_ = IndexIds(*segment_, "out", "sources", -1);
  const auto rows = static_cast<int64_t>(sources_.size());
  directory_ =
      IndexIds(*segment_, "out", "directory", static_cast<int64_t>((num_sources_ >> shift_) + 2));
  csc_.indptr = IndexArray(*segment_, "out", "indptr", DType::kUInt64, {rows + 1}).as<uint64_t>();
  csc_.indices = IndexIds(*segment_, "out", "indices", static_cast<int64_t>(csc_.indptr.back()));
  csc_.edge_rows =
      IndexIds(*segment_, "out", "edge_rows", static_cast<int64_t>(csc_.indptr.back()));
}

int64_t OutIndex::RowOf(uint64_t source) const noexcept {
  if (source >= num_sources_) return -1;
  const uint64_t step = source >> shift_;
  return sources_.Visit([&](auto sources) -> int64_t {
    const auto begin = sources.begin() + static_cast<ptrdiff_t>(directory_[step]);
    const auto end = sources.begin() + static_cast<ptrdiff_t>(directory_[step + 1]);
    const auto found = std::lower_bound(begin, end, source);
    return found != end && *found == source ? found - sources.begin() : -1;
  });
}

void OutIndex::RowsOf(std::span<const int64_t> sources, std::span<int64_t> rows) const noexcept {
  const auto prefetch = [&](int64_t source) {
    if (source < 0 || static_cast<uint64_t>(source) >= num_sources_) return;
    directory_.Visit([&](auto directory) {
      __builtin_prefetch(directory.data() + (static_cast<uint64_t>(source) >> shift_));
    });
  };
  for (size_t i = 0; i < sources.size(); i++) {
    if (i + kPrefetchAhead < sources.size()) prefetch(sources[i + kPrefetchAhead]);
    rows[i] = sources[i] < 0 ? -1 : RowOf(static_cast<uint64_t>(sources[i]));
  }
}

}  // namespace graphd
