// SPDX-License-Identifier: Apache-2.0
#include "format/partition/coarse_graph.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace graphd {
namespace {

constexpr uint64_t kLeastPiece = uint64_t{64} << 20;  // in memory

// Packs an edge to a cluster: the cluster's number in the upper half, so that edges sort by
// cluster, and the weight.
uint64_t Packed(uint32_t cluster, uint32_t weight) { return uint64_t{cluster} << 32 | weight; }
uint32_t ClusterOf(uint64_t packed) { return static_cast<uint32_t>(packed >> 32); }
uint32_t WeightOf(uint64_t packed) { return static_cast<uint32_t>(packed); }

uint32_t AddUpTo32Bits(uint32_t a, uint32_t b) {
  return a + std::min(b, std::numeric_limits<uint32_t>::max() - a);
}

// Sorts edges by cluster, and joins edges to the same cluster into one with the sum of their
// weights. Returns how many edges remain.
size_t Merge(std::span<uint64_t> edges) {
  std::sort(edges.begin(), edges.end());
  size_t kept = 0;
  for (uint64_t edge : edges) {
    if (kept > 0 && ClusterOf(edges[kept - 1]) == ClusterOf(edge)) {
      edges[kept - 1] =
          Packed(ClusterOf(edge), AddUpTo32Bits(WeightOf(edges[kept - 1]), WeightOf(edge)));
    } else {
      edges[kept++] = edge;
    }
  }
  return kept;
}

}  // namespace

// Appends merged lists to the arrays in memory or to the files.
class CoarseGraph::Writer {
 public:
  Writer(CoarseGraph& graph, SpillFiles* spill) : graph_(graph), spill_(spill) {
    if (!spill) return;
    graph.ids_path_ = spill->NewPath();
    ids_.emplace(graph.ids_path_);
    graph.weights_path_ = spill->NewPath();
    weights_.emplace(graph.weights_path_);
  }

  void Append(std::span<const uint64_t> edges) {
    for (uint64_t edge : edges) {
      const uint32_t id = ClusterOf(edge), weight = WeightOf(edge);
      if (spill_) {
        ids_->Append(std::as_bytes(std::span(&id, 1)));
        weights_->Append(std::as_bytes(std::span(&weight, 1)));
      } else {
        graph_.ids_.push_back(id);
        graph_.weights_.push_back(weight);
      }
    }
    size_ += edges.size();
  }

  uint64_t size() const noexcept { return size_; }

  void Finish() {
    graph_.lists_.ends = graph_.ends_;
    if (!spill_) {
      graph_.lists_.ids = graph_.ids_;
      graph_.lists_.weights = graph_.weights_;
      return;
    }
    ids_->Flush();
    weights_->Flush();
    const auto shape = {static_cast<int64_t>(size_)};
    graph_.mapped_ids_ = spill_->Map({graph_.ids_path_, 0}, DType::kUInt32, shape);
    graph_.mapped_weights_ = spill_->Map({graph_.weights_path_, 0}, DType::kUInt32, shape);
    graph_.lists_.ids = graph_.mapped_ids_.as<uint32_t>();
    graph_.lists_.weights = graph_.mapped_weights_.as<uint32_t>();
  }

 private:
  CoarseGraph& graph_;
  SpillFiles* spill_;
  std::optional<SpillFile> ids_, weights_;
  uint64_t size_ = 0;
};

CoarseGraph::CoarseGraph(const NeighbourLists& fine, const Clusters& clusters, SpillFiles* spill,
                         uint64_t memory, const std::function<void()>& pass_done)
    : ends_(clusters.count, 0) {
  const auto for_each_edge = [&](auto&& f) {
    for (size_t u = 0; u < fine.nodes(); u++) {
      const uint32_t from = clusters.of[u];
      fine.ForEach(u, [&](uint32_t v, uint32_t weight) {
        if (clusters.of[v] != from) f(from, clusters.of[v], weight);
      });
    }
  };
  // Until the list of cluster c is written, ends_[c] is the number of its edges, including repeated
  // ones.
  for_each_edge([&](uint32_t from, uint32_t, uint32_t) { ends_[from]++; });
  const uint64_t total = std::accumulate(ends_.begin(), ends_.end(), uint64_t{0});
  if (!spill) memory = std::max(kLeastPiece, total * sizeof(uint64_t) / 8);
  const uint64_t room = std::max<uint64_t>(memory / sizeof(uint64_t), 1);
  HugeArray<uint64_t> piece(std::min(room, total), "the edges of some clusters");
  std::vector<uint64_t> next;  // by cluster of the piece: where its next edge belongs
  std::vector<uint32_t> sums;  // by cluster: the weights of the edges to it; for long lists
  Writer writer(*this, spill);
  for (size_t first = 0; first < clusters.count;) {
    next.clear();
    uint64_t held = 0;
    size_t last = first;  // the cluster behind the piece
    while (last < clusters.count && held + ends_[last] <= piece.size()) {
      next.push_back(held);
      held += ends_[last++];
    }
    if (last == first) {  // This cluster's edges exceed the buffer.
      sums.resize(clusters.count);
      for_each_edge([&](uint32_t from, uint32_t to, uint32_t weight) {
        if (from == first) sums[to] = AddUpTo32Bits(sums[to], weight);
      });
      for (uint32_t to = 0; to < clusters.count; to++) {
        const uint64_t edge = Packed(to, std::exchange(sums[to], 0));
        if (WeightOf(edge) > 0) writer.Append({&edge, 1});
      }
      ends_[first++] = writer.size();
      pass_done();
      continue;
    }
    if (held > 0) {
      for_each_edge([&](uint32_t from, uint32_t to, uint32_t weight) {
        if (from - first < next.size()) piece[next[from - first]++] = Packed(to, weight);
      });
    }
    uint64_t begin = 0;
    for (size_t c = first; c < last; c++) {
      const std::span<uint64_t> list(piece.data() + begin, ends_[c]);
      begin += ends_[c];
      writer.Append(list.first(Merge(list)));
      ends_[c] = writer.size();
    }
    first = last;
    pass_done();
  }
  writer.Finish();
}

CoarseGraph::~CoarseGraph() {
  for (const std::string& path : {ids_path_, weights_path_}) {
    if (!path.empty()) ::unlink(path.c_str());
  }
}

}  // namespace graphd
