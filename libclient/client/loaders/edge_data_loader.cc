// SPDX-License-Identifier: Apache-2.0
#include "graphd/edge_data_loader.h"

#include <algorithm>
#include <unordered_set>

#include "base/index.h"
#include "base/rng.h"
#include "base/strings.h"
#include "client/loaders/batch_features.h"
#include "client/loaders/edge_seeds.h"
#include "client/routing/check_ids.h"
#include "client/routing/edge_queries.h"

namespace graphd {
namespace {

// Returns the ids of all edges src[i] -> dst[i] of one type, parallel edges included.
std::vector<int64_t> EdgesBetween(GraphAccess& access, EdgeTypeId etype,
                                  const std::vector<int64_t>& src,
                                  const std::vector<int64_t>& dst) {
  std::vector<int64_t> sources = src, destinations = dst;
  for (auto* ids : {&sources, &destinations}) {
    std::sort(ids->begin(), ids->end());
    ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
  }
  std::unordered_set<uint64_t> wanted;  // pairs, by the positions of their endpoints
  const auto position = [](const std::vector<int64_t>& ids, int64_t id) {
    return static_cast<uint64_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
  };
  for (size_t i = 0; i < src.size(); i++) {
    wanted.insert(position(sources, src[i]) << 32 | position(destinations, dst[i]));
  }
  std::vector<int64_t> indptr, indices, edge_ids, found;
  EdgeQueries(access).Induced(etype, destinations, sources, indptr, indices, edge_ids);
  for (size_t v = 0; v < destinations.size(); v++) {
    for (auto k = static_cast<size_t>(indptr[v]); k < static_cast<size_t>(indptr[v + 1]); k++) {
      if (wanted.contains(static_cast<uint64_t>(indices[k]) << 32 | v)) {
        found.push_back(edge_ids[k]);
      }
    }
  }
  return found;
}

void CheckReverseIds(const DistGraph& graph, const std::vector<std::vector<int64_t>>& eids,
                     const std::vector<std::vector<int64_t>>& reverse) {
  for (EdgeTypeId e = 0; Index(e) < eids.size(); e++) {
    if (eids[Index(e)].empty()) continue;
    const int64_t count = graph.num_edges(e);
    const size_t given = Index(e) < reverse.size() ? reverse[Index(e)].size() : 0;
    if (given != static_cast<size_t>(count)) {
      Throw(ErrorCode::kInvalid, "reverse_eids of edge type ", graph.schema().etype(e).ToString(),
            " has ", given, " ids, expected one per edge: ", count);
    }
    for (int64_t id : reverse[Index(e)]) {
      if (id >= 0 && id < count) continue;
      Throw(ErrorCode::kInvalid, "reverse edge ", id, " of type ",
            graph.schema().etype(e).ToString(), " is outside 0..", count - 1);
    }
  }
}

void CheckReverseTypes(const Schema& schema,
                       const std::vector<std::pair<EdgeTypeId, EdgeTypeId>>& reverse) {
  if (reverse.empty()) {
    Throw(ErrorCode::kInvalid, "edges of reverse types are to be excluded, but no reverse_etypes ",
          "are given");
  }
  for (const auto& [etype, back] : reverse) {
    for (EdgeTypeId e : {etype, back}) {
      if (e >= 0 && e < schema.num_etypes()) continue;
      Throw(ErrorCode::kInvalid, "edge type ", e, " is outside 0..", schema.num_etypes() - 1);
    }
    if (schema.src_type(etype) != schema.dst_type(back) ||
        schema.dst_type(etype) != schema.src_type(back)) {
      Throw(ErrorCode::kInvalid, schema.etype(back).ToString(), " is not a reverse of ",
            schema.etype(etype).ToString(), ": it joins other node types");
    }
  }
}

// Returns the node types with the number of nodes of each: "city: 3, user: 20".
std::string NodesText(const DistGraph& graph) {
  std::vector<std::string> texts;
  for (NodeTypeId t = 0; t < graph.schema().num_ntypes(); t++) {
    texts.push_back(StrCat(graph.schema().ntype(t), ": ", graph.num_nodes(t)));
  }
  return Join(texts, ", ");
}

void CheckSameNodes(const DistGraph& graph, const DistGraph& sampled) {
  bool same = graph.ntypes() == sampled.ntypes();
  for (NodeTypeId t = 0; same && t < graph.schema().num_ntypes(); t++) {
    same = graph.num_nodes(t) == sampled.num_nodes(t);
  }
  if (same) return;
  Throw(ErrorCode::kInvalid, "g_sampling '", sampled.name(), "' has the nodes ", NodesText(sampled),
        ", but '", graph.name(), "' has the nodes ", NodesText(graph), "; they must be the same");
}

// Checks the edges of a negative sampler, which may be a user's class.
void CheckNegatives(const DistGraph& graph, EdgeTypeId etype, const NegativeEdges& edges) {
  if (edges.src.size() != edges.dst.size()) {
    Throw(ErrorCode::kInvalid, "the negative sampler gave ", edges.src.size(), " sources and ",
          edges.dst.size(), " destinations; the numbers must be equal");
  }
  CheckIds(edges.src, graph.num_nodes(graph.schema().src_type(etype)), "negative source");
  CheckIds(edges.dst, graph.num_nodes(graph.schema().dst_type(etype)), "negative destination");
}

}  // namespace

struct DistEdgeDataLoader::Impl {
  Impl(DistGraph g, std::vector<std::vector<int64_t>> eids, AnySampler s, const LoaderOptions& o,
       EdgeLoaderOptions e)
      : graph(std::move(g)),
        sampler(std::move(s)),
        edges(Checked(graph, eids, std::move(e))),
        features(sampled(), o),
        items(LoaderItems::OfEdges(graph, std::move(eids), o)),
        loader(graph.session(), items.TakeDataset(),
               [this](std::span<const int64_t> some, const BatchInfo& info) {
                 return Make(some, info);
               },
               {o.batch_size, o.shuffle, o.drop_last, o.seed, o.num_workers, o.queue_size,
                o.ordered}) {
    for (const EdgeFeature& feature : edges.seed_edge_features) {
      seed_edge_tensors.emplace_back(feature.etype, graph.edata(feature.name, feature.etype));
    }
  }

  static EdgeLoaderOptions Checked(const DistGraph& graph,
                                   const std::vector<std::vector<int64_t>>& eids,
                                   EdgeLoaderOptions edges) {
    if (edges.exclude == ExcludeEdges::kReverseId) {
      CheckReverseIds(graph, eids, edges.reverse_eids);
    }
    if (edges.exclude == ExcludeEdges::kReverseTypes) {
      CheckReverseTypes(graph.schema(), edges.reverse_etypes);
    }
    if (edges.g_sampling) CheckSameNodes(graph, *edges.g_sampling);
    return edges;
  }

  const DistGraph& sampled() const { return edges.g_sampling ? *edges.g_sampling : graph; }

  // Returns the edges that are hidden from the sampler of a batch, [etype].
  std::vector<std::vector<int64_t>> Excluded(const std::vector<std::vector<int64_t>>& eids,
                                             const std::vector<EdgeEnds>& ends) const {
    if (edges.exclude == ExcludeEdges::kNone || edges.g_sampling) return {};
    std::vector<std::vector<int64_t>> excluded = eids;
    if (edges.exclude == ExcludeEdges::kReverseId) {
      for (size_t e = 0; e < eids.size(); e++) {
        for (int64_t id : eids[e]) {
          excluded[e].push_back(edges.reverse_eids[e][static_cast<size_t>(id)]);
        }
      }
    }
    if (edges.exclude == ExcludeEdges::kReverseTypes) {
      for (const auto& [etype, back] : edges.reverse_etypes) {
        const EdgeEnds& of_type = ends[Index(etype)];
        if (of_type.src.empty()) continue;
        const auto found = EdgesBetween(*graph.access(), back, of_type.dst, of_type.src);
        excluded[Index(back)].insert(excluded[Index(back)].end(), found.begin(), found.end());
      }
    }
    return excluded;
  }

  EdgeBatch Make(std::span<const int64_t> some, const BatchInfo& info) const {
    const Schema& schema = graph.schema();
    LoaderItems::ByType eids = items.Of(some);
    std::vector<EdgeEnds> ends(eids.ids.size()), negative(eids.ids.size());
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      if (eids.ids[Index(e)].empty()) continue;
      ends[Index(e)] = graph.FindEdges(eids.ids[Index(e)], e);
      if (!edges.negative_sampler) continue;
      NegativeEdges drawn = edges.negative_sampler->SampleFor(
          graph, e, eids.ids[Index(e)], ends[Index(e)].src, ends[Index(e)].dst,
          CombineKeys(CombineKeys(info.seed, 0x6e6567), static_cast<uint64_t>(e)));
      CheckNegatives(graph, e, drawn);
      negative[Index(e)] = {std::move(drawn.src), std::move(drawn.dst)};
    }
    EdgeSeeds seeds = items.has_times() ? NumberEventEnds(schema, ends, negative, eids)
                                        : NumberEnds(*graph.access(), ends, negative);
    BatchRequest request = features.Request(seeds.nodes, info.seed);
    request.seed_times = seeds.times;
    request.seed_real_times = seeds.real_times;
    request.exclude = Excluded(eids.ids, ends);
    EdgeBatch batch;
    batch.seed = info.seed;
    batch.exclude = request.exclude;
    static_cast<MiniBatch&>(batch) = sampler->Sample(sampled(), std::move(request));
    if (items.has_times()) CheckAllSeedsKept(seeds.nodes, batch.seeds);
    batch.seed_times = std::move(seeds.times);
    batch.seed_real_times = std::move(seeds.real_times);
    batch.positive = std::move(seeds.positive);
    batch.negative = std::move(seeds.negative);
    batch.index = info.index;
    for (const auto& [etype, tensor] : seed_edge_tensors) {
      batch.seed_edge_features.push_back(tensor.Read(eids.ids[Index(etype)]));
    }
    for (size_t e = 0; e < eids.ids.size(); e++) {
      batch.positive[e].edge_ids = std::move(eids.ids[e]);
    }
    features.FetchOfEdges(batch, info.stop);
    return batch;
  }

  const DistGraph graph;
  const AnySampler sampler;
  const EdgeLoaderOptions edges;
  const BatchFeatures features;
  LoaderItems items;
  std::vector<std::pair<EdgeTypeId, DistTensor>> seed_edge_tensors;
  DistDataLoader<int64_t, EdgeBatch> loader;  // last, because its workers use the other members
};

DistEdgeDataLoader::DistEdgeDataLoader(DistGraph graph, std::vector<int64_t> eids, EdgeTypeId etype,
                                       AnySampler sampler, LoaderOptions options,
                                       EdgeLoaderOptions edges) {
  auto by_type = OfOneType(std::move(eids), etype, graph.schema().num_etypes(), "edge");
  impl_ = std::make_unique<Impl>(std::move(graph), std::move(by_type), std::move(sampler), options,
                                 std::move(edges));
}

DistEdgeDataLoader::DistEdgeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> eids,
                                       AnySampler sampler, LoaderOptions options,
                                       EdgeLoaderOptions edges)
    : impl_(std::make_unique<Impl>(std::move(graph), std::move(eids), std::move(sampler), options,
                                   std::move(edges))) {}

DistEdgeDataLoader::~DistEdgeDataLoader() = default;
DistEdgeDataLoader::DistEdgeDataLoader(DistEdgeDataLoader&&) noexcept = default;

int64_t DistEdgeDataLoader::num_batches() const noexcept { return impl_->loader.num_batches(); }
void DistEdgeDataLoader::StartEpoch(int64_t epoch) { impl_->loader.StartEpoch(epoch); }
std::optional<EdgeBatch> DistEdgeDataLoader::Next() { return impl_->loader.Next(); }

}  // namespace graphd
