// SPDX-License-Identifier: Apache-2.0
// Second-order walks by rejection sampling: candidates are proposed as in a first-order walk and
// accepted with a probability proportional to their bias, so that only the partitions need degrees
// and weights. If all proposals of a walk are rejected, the walk draws from the list of all
// neighbours. The distribution of its next node stays the same, because the proposals are
// independent of this draw.
#include <algorithm>

#include "base/strings.h"
#include "client/routing/edge_queries.h"
#include "client/sampling/walkers.h"
#include "sampling/index/numbers.h"

namespace graphd {
namespace {

// The number of proposals in the first round. Every further round has twice as many, 252 in total.
constexpr int kProposals = 4;
constexpr uint32_t kRounds = 6;
// The number of layers (HopOptions::layer) of a step: one per round of proposals, and one for the
// draw from the list of all neighbours. Different layers have different random numbers.
constexpr uint32_t kLayers = kRounds + 1;
// The maximum number of neighbours listed at once.
constexpr int64_t kMostListed = int64_t{1} << 22;
constexpr uint64_t kAccept = 0x616363657074ULL;

double CheckedParameter(double value, const char* name) {
  if (value >= 1e-100 && value <= 1e100) return value;
  Throw(ErrorCode::kInvalid, "node2vec's ", name, " is ", value, "; use a number above 0");
}

// The acceptance probability of a candidate: the previous node, a neighbour of that node, or
// another node.
struct Acceptance {
  double back, near, far;
  Acceptance(double p, double q) : back(1 / p), near(1), far(1 / q) {
    const double most = std::max({back, near, far});
    back /= most;
    near /= most;
    far /= most;
  }
};

class SecondOrderSteps {
 public:
  SecondOrderSteps(GraphAccess& access, const SamplingRule& rule, double p, double q, uint64_t seed,
                   bool with_edges)
      : access_(access),
        rule_(rule),
        acceptance_(CheckedParameter(p, "p"), CheckedParameter(q, "q")),
        seed_(CombineKeys(WalkSeed(seed), 2)),
        with_edges_(with_edges),
        from_(static_cast<size_t>(access.meta().schema.num_ntypes())) {}

  // Computes the next nodes and edges of the walkers.
  void Next(const Walkers& walkers) {
    const size_t count = walkers.walks().size();
    nodes.assign(count, -1);
    edge_ids.assign(with_edges_ ? count : 0, -1);
    pending_.resize(count);
    for (size_t i = 0; i < count; i++) pending_[i] = i;
    for (uint32_t round = 0; round < kRounds && !pending_.empty(); round++) Propose(walkers, round);
    if (!pending_.empty()) DrawFromLists(walkers);
  }
  std::vector<int64_t> nodes, edge_ids;  // one per walker

 private:
  // A candidate whose acceptance depends on whether it is a neighbour of the previous node.
  struct Doubt {
    size_t at;         // position of the walk in pending_
    size_t candidate;  // position in the hop
    double coin;
  };

  uint32_t Layer(const Walkers& walkers, uint32_t round) const {
    return static_cast<uint32_t>(walkers.step()) * kLayers + round;
  }
  CounterRng Coins(uint32_t layer, int64_t walk) const {
    const uint64_t key = CombineKeys(CombineKeys(seed_, kAccept), layer);
    return CounterRng(CombineKeys(key, static_cast<uint64_t>(walk)));
  }
  Neighbors Hop(const Walkers& walkers, std::span<const size_t> some, int fanout, uint32_t layer,
                bool edge_ids_too);
  void Propose(const Walkers& walkers, uint32_t round);
  void Take(size_t walker, const Neighbors& hop, size_t candidate);
  void Ask(const Walkers& walkers, size_t walker, int64_t candidate);
  std::span<const uint8_t> Answers();
  void DrawFromLists(const Walkers& walkers);
  void DrawFrom(const Walkers& walkers, std::span<const size_t> some);
  std::vector<double> Weights(const Neighbors& hop) const;

  GraphAccess& access_;
  SamplingRule rule_;
  Acceptance acceptance_;
  uint64_t seed_;
  bool with_edges_;
  std::vector<HopSeeds> from_;         // [ntype]
  std::vector<size_t> pending_;        // walkers without a next node
  std::vector<int64_t> at_, streams_;  // nodes and streams of the running hop
  std::vector<int64_t> src_, dst_;     // node pairs of the edge query
  std::vector<uint8_t> found_;
};

Neighbors SecondOrderSteps::Hop(const Walkers& walkers, std::span<const size_t> some, int fanout,
                                uint32_t layer, bool edge_ids_too) {
  at_.clear();
  streams_.clear();
  for (size_t i : some) {
    at_.push_back(walkers.nodes()[i]);
    streams_.push_back(walkers.walks()[i]);
  }
  rule_.fanout = fanout;
  rule_.replace = fanout != kAllNeighbors;
  from_[static_cast<size_t>(SeedType(access_.meta().schema, rule_))] = {at_, streams_};
  return std::move(access_.Hop(from_, std::span(&rule_, 1), {seed_, layer, edge_ids_too})[0]);
}

void SecondOrderSteps::Take(size_t walker, const Neighbors& hop, size_t candidate) {
  nodes[walker] = hop.neighbors[candidate];
  if (with_edges_) edge_ids[walker] = hop.edge_ids[candidate];
}

// Adds the query whether the candidate has an edge to the walker's previous node, in the walk's
// direction.
void SecondOrderSteps::Ask(const Walkers& walkers, size_t walker, int64_t candidate) {
  const bool out = rule_.direction == Direction::kOut;
  src_.push_back(out ? candidate : walkers.previous(walker));
  dst_.push_back(out ? walkers.previous(walker) : candidate);
}

std::span<const uint8_t> SecondOrderSteps::Answers() {
  found_.resize(src_.size());
  if (!src_.empty()) EdgeQueries(access_).HasEdges(rule_.etype, src_, dst_, found_);
  src_.clear();
  dst_.clear();
  return found_;
}

void SecondOrderSteps::Propose(const Walkers& walkers, uint32_t round) {
  const bool first = walkers.step() == 0;  // there is no previous node
  const uint32_t layer = Layer(walkers, round);
  const Neighbors hop = Hop(walkers, pending_, first ? 1 : kProposals << round, layer, with_edges_);
  const auto [low, high] = std::minmax(acceptance_.near, acceptance_.far);
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> taken(pending_.size(), kNone);
  std::vector<Doubt> doubts;
  for (size_t i = 0; i < pending_.size(); i++) {
    CounterRng coins = Coins(layer, streams_[i]);
    const auto end = static_cast<size_t>(hop.indptr[i + 1]);
    for (auto c = static_cast<size_t>(hop.indptr[i]); c < end && taken[i] == kNone; c++) {
      const double coin = NextUnit(coins);
      const bool back = !first && hop.neighbors[c] == walkers.previous(pending_[i]);
      if (first || coin < (back ? acceptance_.back : low)) {
        taken[i] = c;
      } else if (!back && coin < high) {
        doubts.push_back({i, c, coin});
        Ask(walkers, pending_[i], hop.neighbors[c]);
      }
    }
  }
  const auto near = Answers();
  for (size_t d = doubts.size(); d-- > 0;) {  // the first accepted candidate counts
    if (doubts[d].coin < (near[d] ? acceptance_.near : acceptance_.far)) {
      taken[doubts[d].at] = doubts[d].candidate;
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < taken.size(); i++) {
    if (taken[i] != kNone) {
      Take(pending_[i], hop, taken[i]);
    } else if (hop.indptr[i] != hop.indptr[i + 1]) {
      pending_[left++] = pending_[i];
    }
  }
  pending_.resize(left);
}

// Draws from complete neighbour lists; walks share a hop while their lists are short.
void SecondOrderSteps::DrawFromLists(const Walkers& walkers) {
  std::vector<int64_t> at, degrees(pending_.size());
  for (size_t i : pending_) at.push_back(walkers.nodes()[i]);
  EdgeQueries(access_).Degrees(rule_.etype, rule_.direction, at, degrees);
  for (size_t begin = 0, end = 0; begin < pending_.size(); begin = end) {
    int64_t listed = 0;
    while (end < pending_.size() && (end == begin || listed + degrees[end] <= kMostListed)) {
      listed += degrees[end++];
    }
    DrawFrom(walkers, std::span(pending_).subspan(begin, end - begin));
  }
}

void SecondOrderSteps::DrawFrom(const Walkers& walkers, std::span<const size_t> some) {
  const bool weighted = !rule_.column.empty();
  const uint32_t layer = Layer(walkers, kRounds);
  const Neighbors hop = Hop(walkers, some, kAllNeighbors, layer, with_edges_ || weighted);
  std::vector<double> weights = Weights(hop);
  const auto each = [&](const auto& f) {  // f(walker, candidate)
    for (size_t i = 0; i < some.size(); i++) {
      for (int64_t c = hop.indptr[i]; c < hop.indptr[i + 1]; c++) {
        f(some[i], static_cast<size_t>(c));
      }
    }
  };
  each([&](size_t walker, size_t c) { Ask(walkers, walker, hop.neighbors[c]); });
  const auto near = Answers();
  each([&](size_t walker, size_t c) {
    const bool back = hop.neighbors[c] == walkers.previous(walker);
    weights[c] *= back ? acceptance_.back : near[c] ? acceptance_.near : acceptance_.far;
  });
  for (size_t i = 0; i < some.size(); i++) {
    const auto begin = static_cast<size_t>(hop.indptr[i]);
    const auto end = static_cast<size_t>(hop.indptr[i + 1]);
    double total = 0;
    for (size_t c = begin; c < end; c++) total += weights[c];
    CounterRng coins = Coins(layer, streams_[i]);
    double left = NextUnit(coins) * total;
    size_t c = begin;
    while (c + 1 < end && left >= weights[c]) left -= weights[c++];
    if (begin < end) Take(some[i], hop, c);
  }
}

std::vector<double> SecondOrderSteps::Weights(const Neighbors& hop) const {
  std::vector<double> weights(hop.neighbors.size(), 1);
  if (rule_.column.empty()) return weights;
  const FeatureRef ref(rule_.etype, rule_.column);
  const DType dtype = access_.feature(ref).dtype;
  // The edges of a mask have equal weights, whatever value marks them.
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return weights;
  Tensor values = access_.NewTensor(dtype, {static_cast<int64_t>(weights.size())});
  access_.Gather(ref, hop.edge_ids, {values.data(), values.num_bytes()});
  VisitNumbers(values, [&](auto numbers) {
    for (size_t i = 0; i < weights.size(); i++) weights[i] = static_cast<double>(numbers[i]);
  });
  return weights;
}

}  // namespace

Walks Node2vecWalk(const DistGraph& graph, std::span<const int64_t> seeds, double p, double q,
                   int64_t walk_length, const Node2vecOptions& options) {
  CheckWalkLength(walk_length);
  GraphAccess& access = *graph.access();
  const SamplingRule rule = StepRule(access, options.etype, options.direction, options.prob);
  if (!options.prob.empty()) access.feature({options.etype, options.prob});
  const NodeTypeId ntype = SeedType(graph.schema(), rule);
  if (ntype != NeighborType(graph.schema(), rule)) {
    Throw(ErrorCode::kInvalid,
          "node2vec walks along an edge type with one node type at both ends; ",
          graph.schema().etype(options.etype).ToString(), " has two");
  }
  SecondOrderSteps steps(access, rule, p, q, options.seed, options.edge_ids);
  const std::vector<NodeTypeId> ntypes(static_cast<size_t>(walk_length) + 1, ntype);
  Walkers walkers(graph, seeds, ntypes, options.edge_ids);
  while (!walkers.done()) {
    steps.Next(walkers);
    walkers.Step(steps.nodes, steps.edge_ids);
  }
  return std::move(walkers).Finish();
}

}  // namespace graphd
