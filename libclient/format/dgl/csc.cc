// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/csc.h"

#include <algorithm>
#include <limits>

namespace graphd {
namespace {

// The type and the type-wise id of each local node. `X` is uint32_t or uint64_t.
template <class X>
struct LocalNodes {
  std::vector<uint16_t> type;  // empty if the graph has one type
  std::vector<X> id;
};

template <class X>
LocalNodes<X> ReadLocalNodes(const DglStructure& in) {
  const IdMap& map = in.meta.book.nodes();
  LocalNodes<X> nodes;
  nodes.id.resize(static_cast<size_t>(in.node_ids.num_elements()));
  if (map.num_types() > 1) nodes.type.resize(nodes.id.size());
  VisitIntegers(in.node_ids.dtype, in.node_ids.data, [&](auto ids) {
    for (size_t i = 0; i < ids.size(); i++) {  // DglOwned has checked that the book has them
      const auto [type, id] = map.ToTyped(static_cast<int64_t>(ids[i]));
      nodes.id[i] = static_cast<X>(id);
      if (!nodes.type.empty()) nodes.type[i] = static_cast<uint16_t>(type);
    }
  });
  return nodes;
}

// The positions, among the owned objects, of the edges of one type and of their destinations.
struct TypeRange {
  EdgeTypeId etype;
  size_t first_edge, num_edges;
  size_t first_dst, num_dst;
  uint16_t src_type;
};

std::vector<TypeRange> TypeRanges(const DglStructure& in) {
  const Schema& schema = in.meta.schema;
  const IdMap& nodes = in.meta.book.nodes();
  std::vector<size_t> first_node{0};
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    first_node.push_back(first_node.back() + static_cast<size_t>(nodes.count_in(in.part, t)));
  }
  std::vector<TypeRange> ranges;
  size_t first_edge = 0;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const auto dst = static_cast<size_t>(schema.dst_type(e));
    const auto edges = static_cast<size_t>(in.meta.book.edges().count_in(in.part, e));
    ranges.push_back({e, first_edge, edges, first_node[dst], first_node[dst + 1] - first_node[dst],
                      static_cast<uint16_t>(schema.src_type(e))});
    first_edge += edges;
  }
  return ranges;
}

// Sorts the edges of one type at a time. `Ends` is the UnalignedSpan of the edge list.
template <class Ends, class X>
class Sorter {
 public:
  Sorter(const DglStructure& in, const LocalNodes<X>& nodes, Ends src, Ends dst)
      : in_(in), nodes_(nodes), src_(src), dst_(dst) {}

  // Returns the row of the edge's destination among the destinations of its type.
  size_t DstRow(const TypeRange& range, size_t edge) const {
    const auto node = static_cast<uint64_t>(dst_[edge]);
    if (node < nodes_.id.size()) {
      const uint64_t row = in_.owned_nodes.Position(node) - range.first_dst;
      if (row < range.num_dst) return row;
    }
    FailEnd("destination", in_.edges.DstOffset(edge), range, edge, dst_[edge]);
  }

  X Source(const TypeRange& range, size_t edge) const {
    const auto node = static_cast<uint64_t>(src_[edge]);
    if (node < nodes_.id.size() && (nodes_.type.empty() || nodes_.type[node] == range.src_type)) {
      return nodes_.id[node];
    }
    FailEnd("source", in_.edges.SrcOffset(edge), range, edge, src_[edge]);
  }

  bool IsSorted(const TypeRange& range) const {
    size_t last = 0;
    for (size_t r = 0; r < range.num_edges; r++) {
      const size_t row = DstRow(range, Edge(range, r));
      if (row < last) return false;
      last = row;
    }
    return true;
  }

  void Count(const TypeRange& range, std::span<uint64_t> indptr) const {
    for (size_t r = 0; r < range.num_edges; r++) indptr[DstRow(range, Edge(range, r)) + 1]++;
    for (size_t i = 1; i < indptr.size(); i++) indptr[i] += indptr[i - 1];
  }

  template <class Id>
  void PlaceSorted(const TypeRange& range, std::span<Id> indices) const {
    for (size_t r = 0; r < range.num_edges; r++) {
      indices[r] = static_cast<Id>(Source(range, Edge(range, r)));
    }
  }

  template <class Id, class Row>
  void Place(const TypeRange& range, std::span<uint64_t> indptr, std::span<Id> indices,
             std::span<Row> rows) const {
    // indptr[i] is the cursor of node i while its edges are placed; in the end it is the position
    // at which node i + 1 begins.
    for (size_t r = 0; r < range.num_edges; r++) {
      if (r + 2 * kAhead < range.num_edges) Prefetch(range, r, indptr, indices, rows);
      const size_t edge = Edge(range, r);
      const uint64_t at = indptr[DstRow(range, edge)]++;
      indices[at] = static_cast<Id>(Source(range, edge));
      rows[at] = static_cast<Row>(r);
    }
    std::copy_backward(indptr.begin(), indptr.end() - 1, indptr.end());
    indptr[0] = 0;
  }

  // Checks that no in-edge of an owned node is missing among the owned edges.
  void CheckHaloEdges() const {
    const size_t begin = in_.owned_edges.in_order() ? in_.owned_edges.size() : 0;
    for (size_t edge = begin; edge < dst_.size(); edge++) {
      if (in_.owned_edges.Position(edge) != DglOwned::kNotOwned) continue;
      const auto node = static_cast<uint64_t>(dst_[edge]);
      if (node >= nodes_.id.size() || in_.owned_nodes.Position(node) != DglOwned::kNotOwned) {
        Throw(ErrorCode::kCorrupt, in_.path, ", offset ", in_.edges.DstOffset(edge), ": edge ",
              edge, " is not owned but leads to node ", node, ", expected a halo node below ",
              nodes_.id.size());
      }
    }
  }

 private:
  size_t Edge(const TypeRange& range, size_t row) const {
    return in_.owned_edges.Local(range.first_edge + row);
  }

  [[noreturn]] void FailEnd(const char* end, uint64_t offset, const TypeRange& range, size_t edge,
                            int64_t node) const {
    const CanonicalEdgeType& etype = in_.meta.schema.etype(range.etype);
    const bool is_source = end[0] == 's';
    Throw(ErrorCode::kCorrupt, in_.path, ", offset ", offset, ": edge ", edge, " of type ",
          etype.ToString(), " has the ", end, " ", node, ", expected one of the ", nodes_.id.size(),
          " local nodes that is ", is_source ? "" : "owned and ", "of type ",
          is_source ? etype.src : etype.dst);
  }

  static constexpr size_t kAhead = 16;

  // Prefetches the four places in memory, in random order, that placing an edge touches. The cursor
  // of its destination and the id of its source are prefetched 2 * kAhead edges before; its places
  // in `indices` and `rows`, to which the cursor leads, kAhead edges before. This saves a quarter
  // of the time for 30 million edges (1.66 s to 1.26 s).
  template <class Id, class Row>
  void Prefetch(const TypeRange& range, size_t r, std::span<uint64_t> indptr, std::span<Id> indices,
                std::span<Row> rows) const {
    const auto node = [&](Ends ends, size_t edge) {
      return std::min(static_cast<uint64_t>(ends[edge]), last_node_);
    };
    const size_t far = Edge(range, r + 2 * kAhead);
    const uint64_t row = in_.owned_nodes.Position(node(dst_, far)) - range.first_dst;
    __builtin_prefetch(&indptr[std::min<uint64_t>(row, range.num_dst)], 1);
    __builtin_prefetch(&nodes_.id[node(src_, far)]);
    // The edge is not placed yet, so the cursor of its destination is within the arrays.
    const uint64_t at = indptr[DstRow(range, Edge(range, r + kAhead))];
    __builtin_prefetch(&indices[at], 1);
    __builtin_prefetch(&rows[at], 1);
  }

  const DglStructure& in_;
  const LocalNodes<X>& nodes_;
  Ends src_, dst_;
  uint64_t last_node_ = nodes_.id.empty() ? 0 : nodes_.id.size() - 1;
};

// Calls f with the span (of uint32_t or uint64_t) of an id array of the segment.
template <class F>
void VisitArray(SegmentWriter& writer, const std::string& name, F&& f) {
  if (writer.layout().Find(name)->dtype() == DType::kUInt32) {
    f(writer.array<uint32_t>(name));
  } else {
    f(writer.array<uint64_t>(name));
  }
}

template <class Ends, class X>
std::shared_ptr<const Segment> Build(const DglStructure& in, const std::string& segment_name,
                                     Ends src, Ends dst) {
  const LocalNodes<X> nodes = ReadLocalNodes<X>(in);
  const Sorter<Ends, X> sorter(in, nodes, src, dst);
  sorter.CheckHaloEdges();
  const std::vector<TypeRange> ranges = TypeRanges(in);
  std::vector<bool> sorted;
  for (const TypeRange& range : ranges) sorted.push_back(sorter.IsSorted(range));

  SegmentWriter writer(segment_name, DglCscLayout(in.meta, in.part, sorted));
  for (const TypeRange& range : ranges) {
    const auto indptr = writer.array<uint64_t>(Partition::IndptrName(range.etype));
    sorter.Count(range, indptr);
    VisitArray(writer, Partition::IndicesName(range.etype), [&](auto indices) {
      if (sorted[static_cast<size_t>(range.etype)]) {
        sorter.PlaceSorted(range, indices);
        return;
      }
      VisitArray(writer, Partition::EdgeRowsName(range.etype),
                 [&](auto rows) { sorter.Place(range, indptr, indices, rows); });
    });
  }
  return std::move(writer).Seal();
}

}  // namespace

SegmentLayout DglCscLayout(const GraphMeta& meta, PartId part,
                           const std::vector<bool>& without_rows) {
  const Schema& schema = meta.schema;
  SegmentLayout layout;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const int64_t edges = meta.book.edges().count_in(part, e);
    const auto dst_nodes = meta.book.nodes().count_in(part, schema.dst_type(e));
    layout.Add(Partition::IndptrName(e), DType::kUInt64, {dst_nodes + 1});
    layout.Add(Partition::IndicesName(e),
               Partition::IdDType(meta.book.nodes().count(schema.src_type(e))), {edges});
    const auto index = static_cast<size_t>(e);
    if (index < without_rows.size() && without_rows[index]) continue;
    layout.Add(Partition::EdgeRowsName(e), Partition::IdDType(edges), {edges});
  }
  return layout;
}

std::shared_ptr<const Segment> BuildDglCsc(const DglStructure& in,
                                           const std::string& segment_name) {
  const IdMap& nodes = in.meta.book.nodes();
  int64_t largest = 0;
  for (NodeTypeId t = 0; t < nodes.num_types(); t++) largest = std::max(largest, nodes.count(t));
  return in.edges.Visit([&](auto src, auto dst) {
    using Ends = decltype(src);
    if (largest <= int64_t{UINT32_MAX}) {
      return Build<Ends, uint32_t>(in, segment_name, src, dst);
    }
    return Build<Ends, uint64_t>(in, segment_name, src, dst);
  });
}

}  // namespace graphd
