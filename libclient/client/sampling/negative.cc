// SPDX-License-Identifier: Apache-2.0
#include "graphd/negative.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/rng.h"
#include "client/routing/check_ids.h"
#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"

namespace graphd {
namespace {

constexpr int kMostPerEdge = 1 << 20;
constexpr size_t kMostEdges = size_t{1} << 30;

// These keys separate the random numbers from those of samples with the same seed.
constexpr uint64_t kPerSource = 0x6e65676174697665ULL;
constexpr uint64_t kGlobal = 0x676c6f62616cULL;

// The maximum number of pairs to draw: kDrawsPerSample per sample, and kMoreDraws in addition. A
// round draws at most kDrawsAtOnce.
constexpr size_t kDrawsPerSample = 64, kMoreDraws = 1000, kDrawsAtOnce = size_t{1} << 20;

int CheckedPerEdge(int k) {
  if (k < 1 || k > kMostPerEdge) {
    Throw(ErrorCode::kInvalid, "k = ", k, " negative edges per edge: use 1..", kMostPerEdge);
  }
  return k;
}

void CheckType(const DistGraph& graph, EdgeTypeId etype) {
  if (etype >= 0 && etype < graph.schema().num_etypes()) return;
  Throw(ErrorCode::kInvalid, "edge type ", etype, " is outside 0..",
        graph.schema().num_etypes() - 1);
}

double CheckedRedundancy(double redundancy) {
  if (redundancy >= 0 && redundancy <= 1000) return redundancy;
  Throw(ErrorCode::kInvalid, "redundancy ", redundancy, ": use 0..1000");
}

// Checks the positive edges and returns the number of negative ones with k for each.
size_t CheckedCount(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                    std::span<const int64_t> dst, int k) {
  CheckType(graph, etype);
  const Schema& schema = graph.schema();
  if (src.size() != dst.size()) {
    Throw(ErrorCode::kInvalid, src.size(), " sources and ", dst.size(),
          " destinations of positive edges; the numbers must be equal");
  }
  CheckIds(src, graph.num_nodes(schema.src_type(etype)), "source");
  CheckIds(dst, graph.num_nodes(schema.dst_type(etype)), "destination");
  if (src.size() > kMostEdges / static_cast<size_t>(k)) {
    Throw(ErrorCode::kInvalid, k, " negative edges for each of ", src.size(), " are more than ",
          kMostEdges, "; use smaller batches");
  }
  return src.size() * static_cast<size_t>(k);
}

struct PairHash {
  size_t operator()(const std::pair<int64_t, int64_t>& pair) const noexcept {
    return CombineKeys(static_cast<uint64_t>(pair.first), static_cast<uint64_t>(pair.second));
  }
};

// Draws pairs of nodes and keeps those that are not edges.
class PairDraws {
 public:
  PairDraws(const DistGraph& graph, const GlobalNegativeOptions& options)
      : access_(*graph.access()),
        options_(options),
        sources_(graph.num_nodes(graph.schema().src_type(options.etype))),
        destinations_(graph.num_nodes(graph.schema().dst_type(options.etype))),
        no_loops_(options.exclude_self_loops &&
                  graph.schema().src_type(options.etype) == graph.schema().dst_type(options.etype)),
        random_(CombineKeys(CombineKeys(options.seed, kGlobal),
                            static_cast<uint64_t>(options.etype))) {}

  bool any() const noexcept { return sources_ > 0 && destinations_ > 0; }
  // Draws `draws` pairs and appends those that qualify, until the number of pairs is `wanted`.
  void Draw(size_t draws, size_t wanted, NegativeEdges& out) {
    src_.clear();
    dst_.clear();
    for (size_t i = 0; i < draws; i++) {
      const auto u = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(sources_)));
      const auto v = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(destinations_)));
      if (no_loops_ && u == v) continue;
      src_.push_back(u);
      dst_.push_back(v);
    }
    found_.resize(src_.size());
    EdgeQueries(access_).HasEdges(options_.etype, src_, dst_, found_);
    for (size_t i = 0; i < src_.size() && out.src.size() < wanted; i++) {
      if (found_[i]) continue;
      if (!options_.replace && !chosen_.emplace(src_[i], dst_[i]).second) continue;
      out.src.push_back(src_[i]);
      out.dst.push_back(dst_[i]);
    }
  }

 private:
  GraphAccess& access_;
  const GlobalNegativeOptions& options_;
  int64_t sources_, destinations_;
  bool no_loops_;
  CounterRng random_;
  std::vector<int64_t> src_, dst_;
  std::vector<uint8_t> found_;
  std::unordered_set<std::pair<int64_t, int64_t>, PairHash> chosen_;
};

// Returns how many pairs to draw for each negative edge that is still to be found. More than one is
// needed, because pairs that are edges are rejected. The result follows from the options or is,
// without them, 5 % more than the expected number if edges are evenly distributed.
double DrawsPerMissing(const DistGraph& graph, const GlobalNegativeOptions& options) {
  if (options.redundancy > 0) return 1 + options.redundancy;
  const auto sources = graph.num_nodes(graph.schema().src_type(options.etype));
  const auto destinations = graph.num_nodes(graph.schema().dst_type(options.etype));
  const double pairs = static_cast<double>(sources) * static_cast<double>(destinations);
  const double density = static_cast<double>(graph.num_edges(options.etype)) / pairs;
  return 1.05 / (1 - std::min(density, 0.9));
}

}  // namespace

NegativeEdges NegativeSampler::SampleFor(const DistGraph& graph, EdgeTypeId etype,
                                         std::span<const int64_t>, std::span<const int64_t> src,
                                         std::span<const int64_t> dst, uint64_t seed) const {
  return Sample(graph, etype, src, dst, seed);
}

NegativeEdges GlobalUniformNegatives(const DistGraph& graph, int64_t num_samples,
                                     const GlobalNegativeOptions& options) {
  CheckType(graph, options.etype);
  CheckedRedundancy(options.redundancy);
  if (num_samples < 0 || static_cast<size_t>(num_samples) > kMostEdges) {
    Throw(ErrorCode::kInvalid, num_samples, " negative edges: use 0..", kMostEdges);
  }
  NegativeEdges out;
  PairDraws pairs(graph, options);
  if (!pairs.any()) return out;
  const auto wanted = static_cast<size_t>(num_samples);
  const double per_missing = DrawsPerMissing(graph, options);
  size_t left = kDrawsPerSample * wanted + kMoreDraws;
  while (out.src.size() < wanted && left > 0) {
    const double missing = static_cast<double>(wanted - out.src.size());
    // At least 64 pairs are drawn, because each round sends messages to the servers.
    const double draws = std::clamp(std::ceil(missing * per_missing), 64.0, double{kDrawsAtOnce});
    const size_t now = std::min(static_cast<size_t>(draws), left);
    pairs.Draw(now, wanted, out);
    left -= now;
  }
  return out;
}

namespace negative_sampler {

PerSourceUniform::PerSourceUniform(int k) : k_(CheckedPerEdge(k)) {}

NegativeEdges PerSourceUniform::Sample(const DistGraph& graph, EdgeTypeId etype,
                                       std::span<const int64_t> src, std::span<const int64_t> dst,
                                       uint64_t seed) const {
  const size_t count = CheckedCount(graph, etype, src, dst, k_);
  NegativeEdges out;
  if (count == 0) return out;
  const auto choice = static_cast<uint64_t>(graph.num_nodes(graph.schema().dst_type(etype)));
  CounterRng random(CombineKeys(CombineKeys(seed, kPerSource), static_cast<uint64_t>(etype)));
  out.src.reserve(count);
  out.dst.reserve(count);
  for (int64_t source : src) {
    for (int i = 0; i < k_; i++) {
      out.src.push_back(source);
      out.dst.push_back(static_cast<int64_t>(random.Below(choice)));
    }
  }
  return out;
}

GlobalUniform::GlobalUniform(int k, bool exclude_self_loops, bool replace, double redundancy)
    : k_(CheckedPerEdge(k)),
      options_{.exclude_self_loops = exclude_self_loops,
               .replace = replace,
               .redundancy = CheckedRedundancy(redundancy)} {}

NegativeEdges GlobalUniform::Sample(const DistGraph& graph, EdgeTypeId etype,
                                    std::span<const int64_t> src, std::span<const int64_t> dst,
                                    uint64_t seed) const {
  const size_t count = CheckedCount(graph, etype, src, dst, k_);
  GlobalNegativeOptions options = options_;
  options.etype = etype;
  options.seed = seed;
  return GlobalUniformNegatives(graph, static_cast<int64_t>(count), options);
}

}  // namespace negative_sampler
}  // namespace graphd
