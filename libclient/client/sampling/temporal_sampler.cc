// SPDX-License-Identifier: Apache-2.0
#include "graphd/temporal_sampler.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/index.h"
#include "base/rng.h"
#include "base/strings.h"
#include "client/sampling/block_maker.h"
#include "client/sampling/feature_rows.h"
#include "client/sampling/rules_by_edge_type.h"

namespace graphd {
namespace {

// The trees of a batch. During sampling a node of a tree is identified by one number, root * (nodes
// of the type) + id, so that trees never share nodes.
class Trees {
 public:
  // Takes the times of the seeds, unless `has_times` is false.
  Trees(const DistGraph& graph, const BatchRequest& request, bool has_times, bool wants_real_times);

  int64_t root(NodeTypeId t, int64_t number) const { return number / counts_[Index(t)]; }
  int64_t node(NodeTypeId t, int64_t number) const { return number % counts_[Index(t)]; }
  int64_t number(NodeTypeId t, int64_t root, int64_t node) const {
    return root * counts_[Index(t)] + node;
  }
  // Returns the numbers of the seeds, [ntype].
  std::vector<std::vector<int64_t>> Seeds(const BatchRequest& request) const;

  // The arguments of a hop on `frontier`; spans point into this object.
  struct Hop {
    std::vector<std::vector<int64_t>> ids, streams, times;
    std::vector<std::vector<double>> real_times;
    std::vector<HopSeeds> seeds;
  };
  Hop HopFrom(const std::vector<std::vector<int64_t>>& frontier) const;

 private:
  std::vector<int64_t> counts_;  // [ntype] number of nodes, at least 1
  std::vector<int64_t> times_;   // [root], or empty
  std::vector<double> real_times_;
};

// Appends the times of one type's seeds.
template <class T>
void TakeTimes(const std::vector<std::vector<T>>& given, size_t t, size_t seeds,
               const std::string& ntype, std::vector<T>& times) {
  const size_t count = t < given.size() ? given[t].size() : 0;
  if (count != seeds) {
    Throw(ErrorCode::kInvalid, count, " times for ", seeds, " seeds of node type '", ntype, "'");
  }
  if (count > 0) times.insert(times.end(), given[t].begin(), given[t].end());
}

Trees::Trees(const DistGraph& graph, const BatchRequest& request, bool has_times,
             bool wants_real_times) {
  const Schema& schema = graph.schema();
  const auto num_ntypes = Index(schema.num_ntypes());
  for (size_t given :
       {request.seeds.size(), request.seed_times.size(), request.seed_real_times.size()}) {
    if (given <= num_ntypes) continue;
    Throw(ErrorCode::kInvalid, "seeds or times of ", given, " node types, the graph has ",
          num_ntypes);
  }
  int64_t roots = 0;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const int64_t count = graph.num_nodes(t);
    counts_.push_back(std::max<int64_t>(count, 1));
    static const std::vector<int64_t> kNone;
    const auto& seeds = Index(t) < request.seeds.size() ? request.seeds[Index(t)] : kNone;
    for (int64_t id : seeds) {
      if (id >= 0 && id < count) continue;
      Throw(ErrorCode::kInvalid, "seed ", id, " of node type '", schema.ntype(t),
            "' is outside 0..", count - 1);
    }
    roots += static_cast<int64_t>(seeds.size());
    if (!has_times) continue;
    const bool whole = !request.seed_times.empty() || request.seed_real_times.empty();
    if (whole) TakeTimes(request.seed_times, Index(t), seeds.size(), schema.ntype(t), times_);
    if (!request.seed_real_times.empty()) {
      TakeTimes(request.seed_real_times, Index(t), seeds.size(), schema.ntype(t), real_times_);
    }
  }
  for (int64_t count : counts_) {
    if (roots <= std::numeric_limits<int64_t>::max() / count) continue;
    Throw(ErrorCode::kInvalid, roots, " seeds in a graph of ", count,
          " nodes are too many for one batch");
  }
  if (!wants_real_times || !real_times_.empty()) return;
  constexpr int64_t kExact = int64_t{1} << 53;
  for (int64_t time : times_) {
    if (time < -kExact || time > kExact) {
      Throw(ErrorCode::kInvalid, "seed time ", time,
            " has no exact floating-point value, but the time column is floating-point; give "
            "seed_real_times");
    }
    real_times_.push_back(static_cast<double>(time));
  }
}

std::vector<std::vector<int64_t>> Trees::Seeds(const BatchRequest& request) const {
  std::vector<std::vector<int64_t>> numbers(counts_.size());
  int64_t root = 0;
  for (size_t t = 0; t < request.seeds.size(); t++) {
    for (int64_t id : request.seeds[t]) {
      numbers[t].push_back(number(static_cast<NodeTypeId>(t), root++, id));
    }
  }
  return numbers;
}

Trees::Hop Trees::HopFrom(const std::vector<std::vector<int64_t>>& frontier) const {
  Hop hop;
  const size_t types = frontier.size();
  for (auto* lists : {&hop.ids, &hop.streams, &hop.times}) lists->resize(types);
  hop.real_times.resize(types);
  for (size_t t = 0; t < types; t++) {
    const auto type = static_cast<NodeTypeId>(t);
    for (int64_t number : frontier[t]) {
      const int64_t r = root(type, number);
      hop.ids[t].push_back(node(type, number));
      // Each number has a stream of its own, so that trees draw independently. Two numbers rarely
      // have the same stream, and it does no harm if they do.
      const uint64_t stream = Mix64(static_cast<uint64_t>(number));
      hop.streams[t].push_back(static_cast<int64_t>(stream >> 32));
      if (!times_.empty()) hop.times[t].push_back(times_[Index(r)]);
      if (!real_times_.empty()) hop.real_times[t].push_back(real_times_[Index(r)]);
    }
    hop.seeds.push_back({hop.ids[t], hop.streams[t], hop.times[t], hop.real_times[t]});
  }
  return hop;
}

// Replaces neighbours by their numbers in the tree of their seed.
void MoveIntoTrees(const Schema& schema, const Trees& trees,
                   const std::vector<std::vector<int64_t>>& frontier,
                   std::vector<Neighbors>& samples) {
  for (Neighbors& sample : samples) {
    const NodeTypeId src = schema.src_type(sample.etype), dst = schema.dst_type(sample.etype);
    const auto& seeds = frontier[Index(dst)];
    for (size_t i = 0; i < seeds.size(); i++) {
      const int64_t root = trees.root(dst, seeds[i]);
      for (size_t k = Index(sample.indptr[i]); k < Index(sample.indptr[i + 1]); k++) {
        sample.neighbors[k] = trees.number(src, root, sample.neighbors[k]);
      }
    }
  }
}

// Replaces the numbers that identify nodes in trees by type-wise ids, and sets the roots.
void NameNodes(const Trees& trees, Block& block) {
  block.roots.resize(block.src_nodes.size());
  for (size_t t = 0; t < block.src_nodes.size(); t++) {
    const auto type = static_cast<NodeTypeId>(t);
    for (int64_t& number : block.src_nodes[t]) {
      block.roots[t].push_back(trees.root(type, number));
      number = trees.node(type, number);
    }
  }
}

}  // namespace

TemporalSampler::TemporalSampler(const std::vector<int>& fanouts, TemporalOptions options)
    : TemporalSampler(LayerFanouts(fanouts), std::move(options)) {}

TemporalSampler::TemporalSampler(LayerFanouts fanouts, TemporalOptions options)
    : fanouts_(std::move(fanouts)), options_(std::move(options)) {
  if (options_.column.empty() && options_.recent) {
    Throw(ErrorCode::kInvalid,
          "the most recent edges need an edge feature with times; name it, or sample uniformly");
  }
  if (options_.recent && options_.replace) {
    Throw(ErrorCode::kInvalid,
          "the most recent edges are taken once each; ask for them without replacement");
  }
}

MiniBatch TemporalSampler::Sample(const DistGraph& graph, BatchRequest request) const {
  GraphAccess& access = *graph.access();
  const Schema& schema = graph.schema();
  SamplingRule how;
  const bool has_times = !options_.column.empty();
  how.method = options_.recent ? SamplingMethod::kTemporalRecent
               : has_times     ? SamplingMethod::kTemporalUniform
                               : SamplingMethod::kUniform;
  how.column = options_.column;
  how.replace = options_.replace;
  how.inclusive = options_.inclusive;
  bool wants_real_times = false;
  std::vector<std::vector<SamplingRule>> rules;  // [layer]
  for (size_t l = 0; l < num_layers(); l++) {
    rules.push_back(RulesByEdgeType(graph, fanouts_, l, how));
    for (const SamplingRule& rule : rules[l]) {
      wants_real_times |= TakesRealTimes(schema, rule, access.features(rule.etype));
    }
  }
  const Trees trees(graph, request, has_times, wants_real_times);
  FeatureRows rows(access, request.input_features, request.seed_features);
  MiniBatch batch;
  GraphAccess::Loan loan(access);
  const auto table = [&](NodeTypeId t) -> RelabelTable& {
    return GraphAccess::relabel_any(*loan, t);
  };
  std::vector<std::vector<int64_t>> frontier = trees.Seeds(request);
  batch.blocks.resize(num_layers());
  for (size_t l = num_layers(); l-- > 0;) {
    const Trees::Hop hop = trees.HopFrom(frontier);
    const HopOptions options{request.seed, static_cast<uint32_t>(l), options_.edge_ids,
                             request.exclude};
    auto samples = access.Hop(hop.seeds, rules[l], options, rows.With(hop.ids));
    MoveIntoTrees(schema, trees, frontier, samples);
    batch.blocks[l] = MakeBlock(schema, std::move(frontier), std::move(samples), table);
    frontier = batch.blocks[l].src_nodes;
    NameNodes(trees, batch.blocks[l]);
  }
  batch.seeds = std::move(request.seeds);
  batch.seeds.resize(Index(schema.num_ntypes()));
  rows.Finish(batch);
  return batch;
}

}  // namespace graphd
