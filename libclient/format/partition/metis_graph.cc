// SPDX-License-Identifier: Apache-2.0
#include "format/partition/metis_graph.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "format/partition/edge_weights.h"

namespace graphd {
namespace {

// Completes lists of neighbours. Close sorts the list [begin, end) by id, merges repeated
// neighbours, moves the list to `kept`, and returns its new end.
class ListCloser {
 public:
  explicit ListCloser(MetisGraph& graph) : graph_(graph) {}

  uint64_t Close(uint64_t begin, uint64_t end, uint64_t kept) {
    if (graph_.weights.empty()) {
      const auto at = [&](uint64_t position) {
        return graph_.neighbours.begin() + static_cast<std::ptrdiff_t>(position);
      };
      std::sort(at(begin), at(end));
      return static_cast<uint64_t>(std::unique_copy(at(begin), at(end), at(kept)) -
                                   graph_.neighbours.begin());
    }
    list_.clear();
    for (uint64_t i = begin; i < end; i++) {
      list_.emplace_back(graph_.neighbours[i], graph_.weights[i]);
    }
    std::sort(list_.begin(), list_.end());
    for (size_t i = 0; i < list_.size(); i++) {
      if (i > 0 && list_[i].first == list_[i - 1].first) {
        graph_.weights[kept - 1] += list_[i].second;
      } else {
        graph_.neighbours[kept] = list_[i].first;
        graph_.weights[kept++] = list_[i].second;
      }
    }
    return kept;
  }

 private:
  MetisGraph& graph_;
  std::vector<std::pair<idx_t, idx_t>> list_;
};

// Throws the error that METIS can't count so many `what`. `instead` names methods that can.
[[noreturn]] void ThrowTooLarge(const char* what, uint64_t count, int64_t max_index,
                                const char* instead) {
  Throw(ErrorCode::kInvalid, "there are ", count, " ", what, ", METIS with indices of ",
        8 * sizeof(idx_t), " bits takes at most ", max_index, "; use --part_method ", instead,
        ", which take more");
}

constexpr const char* kAnyOther = "multilevel, ldg or fennel";

}  // namespace

uint64_t EstimateMetisBytes(uint64_t nodes, uint64_t neighbours, uint64_t constraints) noexcept {
  return 52 * neighbours + (64 + 8 * constraints) * nodes;
}

MetisGraph MakeMetisGraph(const RawGraph& graph, const NodeSequence& sequence,
                          const std::string& edge_weights, int64_t max_index) {
  const size_t nodes = sequence.size();
  if (nodes >= static_cast<size_t>(max_index)) ThrowTooLarge("nodes", nodes, max_index, kAnyOther);
  std::vector<uint64_t> cursor(nodes + 1, 0);
  sequence.ForEachPair(
      graph, [&](EdgeTypeId, size_t, uint64_t u, uint64_t v) { cursor[u + 1]++, cursor[v + 1]++; });
  for (size_t i = 0; i < nodes; i++) cursor[i + 1] += cursor[i];

  // METIS sums the weights of both directions; each weight is at least 1.
  if (!edge_weights.empty() && cursor.back() > static_cast<uint64_t>(max_index)) {
    ThrowTooLarge("edges to weigh, in both directions", cursor.back(), max_index, kAnyOther);
  }
  std::optional<EdgeWeights> weights;
  if (!edge_weights.empty()) weights.emplace(graph, edge_weights, max_index / 2);
  MetisGraph simple;
  simple.neighbours.resize(cursor.back());
  if (weights) simple.weights.resize(cursor.back());
  sequence.ForEachPair(graph, [&](EdgeTypeId e, size_t edge, uint64_t u, uint64_t v) {
    if (weights) simple.weights[cursor[u]] = simple.weights[cursor[v]] = weights->of(e, edge);
    simple.neighbours[cursor[u]++] = static_cast<idx_t>(v);
    simple.neighbours[cursor[v]++] = static_cast<idx_t>(u);
  });
  // cursor[i] is the end of node i's list now. Remove repeated neighbours and close the gaps.
  simple.offsets.reserve(nodes + 1);
  simple.offsets.push_back(0);
  ListCloser closer(simple);
  uint64_t begin = 0, kept = 0;
  for (size_t i = 0; i < nodes; i++) {
    kept = closer.Close(begin, cursor[i], kept);
    begin = cursor[i];
    if (kept > static_cast<uint64_t>(max_index)) {
      ThrowTooLarge("pairs of neighbours or more", kept, max_index, kAnyOther);
    }
    simple.offsets.push_back(static_cast<idx_t>(kept));
  }
  simple.neighbours.resize(kept);
  simple.neighbours.shrink_to_fit();
  if (weights) {
    simple.weights.resize(kept);
    simple.weights.shrink_to_fit();
  }
  return simple;
}

MetisGraph MakeMetisGraph(const NeighbourLists& lists, int64_t max_index) {
  const auto most = static_cast<uint64_t>(max_index);
  if (lists.nodes() >= most) {
    ThrowTooLarge("clusters of nodes", lists.nodes(), max_index, "ldg or fennel");
  }
  if (lists.ids.size() > most) {
    ThrowTooLarge("pairs of clusters", lists.ids.size(), max_index, "ldg or fennel");
  }
  uint64_t sum = lists.ids.size();
  for (uint32_t weight : lists.weights) sum += weight;
  const double factor = std::min(
      1.0, static_cast<double>(most) / (2.0 * static_cast<double>(std::max<uint64_t>(sum, 1))));
  MetisGraph graph;
  graph.neighbours.reserve(lists.ids.size());
  graph.weights.reserve(lists.ids.size());
  graph.offsets.reserve(lists.nodes() + 1);
  graph.offsets.push_back(0);
  ListCloser closer(graph);
  for (size_t i = 0; i < lists.nodes(); i++) {
    const uint64_t begin = graph.neighbours.size();
    lists.ForEach(i, [&](uint32_t neighbour, uint32_t weight) {
      graph.neighbours.push_back(static_cast<idx_t>(neighbour));
      graph.weights.push_back(std::max<idx_t>(static_cast<idx_t>(factor * weight), 1));
    });
    const uint64_t end = closer.Close(begin, graph.neighbours.size(), begin);
    graph.neighbours.resize(end);
    graph.weights.resize(end);
    graph.offsets.push_back(static_cast<idx_t>(end));
  }
  return graph;
}

}  // namespace graphd
