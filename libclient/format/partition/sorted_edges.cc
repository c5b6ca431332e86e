// SPDX-License-Identifier: Apache-2.0
#include "format/partition/sorted_edges.h"

#include "base/index.h"
#include "base/threads/run_threads.h"
#include "format/partition/edge_sorter.h"

namespace graphd {
namespace {

// The edges of a graph with the new ids of their ends, for EdgeSorter.
template <class Key>
class RenumberedEdges {
 public:
  RenumberedEdges(const RawEdges& edges, const NodeNumbering& src, const NodeNumbering& dst)
      : edges_(edges), new_src_(src.new_ids), new_dst_(dst.new_ids) {}

  size_t size() const { return Index(edges_.count()); }
  size_t num_nodes() const { return new_dst_.size(); }

  template <class F>
  void ForEachNode(size_t begin, size_t end, F&& f) const {
    new_dst_.Visit([&](auto new_dst) {
      edges_.ForEachIn(begin, end, [&](size_t, uint64_t, uint64_t v) { f(new_dst[v]); });
    });
  }
  template <class F>
  void ForEachEdge(size_t begin, size_t end, F&& f) const {
    new_src_.Visit([&](auto new_src) {
      new_dst_.Visit([&](auto new_dst) {
        edges_.ForEachIn(begin, end, [&](size_t edge, uint64_t u, uint64_t v) {
          f(Key(new_src[u], edge), new_dst[v]);
        });
      });
    });
  }

 private:
  const RawEdges& edges_;
  const IdSpan new_src_, new_dst_;
};

}  // namespace

int64_t SortedEdges::CountCut(const NodeNumbering& src, const NodeNumbering& dst) const {
  std::atomic<size_t> next{0};
  std::atomic<int64_t> cut{0};
  Visit([&](auto keys) {
    RunThreads(UsefulThreads(), [&](size_t) {
      for (size_t p = next++; p + 1 < dst.first.size(); p = next++) {
        const auto own_begin = static_cast<uint64_t>(src.first[p]);
        const uint64_t own_size = static_cast<uint64_t>(src.first[p + 1]) - own_begin;
        const uint64_t begin = offsets_[Index(dst.first[p])];
        const uint64_t end = offsets_[Index(dst.first[p + 1])];
        int64_t of_part = 0;
        for (uint64_t i = begin; i < end; i++) of_part += keys[i].src() - own_begin >= own_size;
        cut += of_part;
      }
    });
  });
  return cut;
}

SortedEdges::SortedEdges(const RawEdges& edges, const NodeNumbering& src,
                         const NodeNumbering& dst) {
  const auto sort = [&]<class Key>(HugeArray<Key>& keys) {
    const RenumberedEdges<Key> source(edges, src, dst);
    EdgeSorter<Key, RenumberedEdges<Key>> sorter(source);
    sorter.Sort(offsets_);
    keys = sorter.TakeKeys();
  };
  if (NarrowEdgeKey::Holds(src, edges)) {
    sort(narrow_);
  } else {
    sort(wide_);
  }
  edge_cut_ = CountCut(src, dst);
}

}  // namespace graphd
