// SPDX-License-Identifier: Apache-2.0
#include "graphd/negative.h"

#include "base/rng.h"
#include "client/check_ids.h"

namespace graphd::negative_sampler {
namespace {

constexpr int kMostPerEdge = 1 << 20;
constexpr size_t kMostEdges = size_t{1} << 30;

// Keeps these random numbers apart from those of samples with the same seed.
constexpr uint64_t kPerSource = 0x6e65676174697665ULL;

int CheckedPerEdge(int k) {
  if (k < 1 || k > kMostPerEdge) {
    Throw(ErrorCode::kInvalid, "k = ", k, " negative edges per edge: use 1..", kMostPerEdge);
  }
  return k;
}

// The positive edges, and how many negative ones k of each make.
size_t CheckedCount(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                    std::span<const int64_t> dst, int k) {
  const Schema& schema = graph.schema();
  if (etype < 0 || etype >= schema.num_etypes()) {
    Throw(ErrorCode::kInvalid, "edge type ", etype, " is outside 0..", schema.num_etypes() - 1);
  }
  if (src.size() != dst.size()) {
    Throw(ErrorCode::kInvalid, src.size(), " sources and ", dst.size(),
          " destinations of positive edges; give as many of either");
  }
  CheckIds(src, graph.num_nodes(schema.src_type(etype)), "source");
  CheckIds(dst, graph.num_nodes(schema.dst_type(etype)), "destination");
  if (src.size() > kMostEdges / static_cast<size_t>(k)) {
    Throw(ErrorCode::kInvalid, k, " negative edges for each of ", src.size(), " are more than ",
          kMostEdges, "; use smaller batches");
  }
  return src.size() * static_cast<size_t>(k);
}

}  // namespace

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

}  // namespace graphd::negative_sampler
