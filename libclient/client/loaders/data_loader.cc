// SPDX-License-Identifier: Apache-2.0
#include "graphd/data_loader.h"

#include "client/loaders/batch_features.h"
#include "client/loaders/loader_items.h"

namespace graphd {

BatchRequest NodeBatch::Request() const {
  BatchRequest request{seeds, seed, exclude};
  request.seed_times = seed_times;
  request.seed_real_times = seed_real_times;
  return request;
}

struct DistNodeDataLoader::Impl {
  Impl(DistGraph g, std::vector<std::vector<int64_t>> nids, AnySampler s, const LoaderOptions& o)
      : graph(std::move(g)),
        sampler(std::move(s)),
        features(graph, o),
        items(LoaderItems::OfNodes(graph, std::move(nids), o)),
        loader(graph.session(), items.TakeDataset(),
               [this](std::span<const int64_t> some, const BatchInfo& info) {
                 return Make(some, info);
               },
               {o.batch_size, o.shuffle, o.drop_last, o.seed, o.num_workers, o.queue_size,
                o.ordered}) {}

  NodeBatch Make(std::span<const int64_t> some, const BatchInfo& info) const {
    LoaderItems::ByType seeds = items.Of(some);
    BatchRequest request = features.Request(seeds.ids, info.seed);
    request.seed_times = seeds.times;
    request.seed_real_times = seeds.real_times;
    NodeBatch batch;
    static_cast<MiniBatch&>(batch) = sampler->Sample(graph, std::move(request));
    if (items.has_times()) CheckAllSeedsKept(seeds.ids, batch.seeds);
    batch.seed_times = std::move(seeds.times);
    batch.seed_real_times = std::move(seeds.real_times);
    batch.seed = info.seed;
    batch.index = info.index;
    features.FetchOfEdges(batch, info.stop);
    return batch;
  }

  const DistGraph graph;
  const AnySampler sampler;
  const BatchFeatures features;
  LoaderItems items;
  DistDataLoader<int64_t, NodeBatch> loader;  // last, because its workers use the other members
};

DistNodeDataLoader::DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids,
                                       AnySampler sampler, LoaderOptions options) {
  auto by_type = OfOneType(std::move(nids), options.ntype, graph.schema().num_ntypes(), "node");
  impl_ = std::make_unique<Impl>(std::move(graph), std::move(by_type), std::move(sampler), options);
}

DistNodeDataLoader::DistNodeDataLoader(DistGraph graph, std::vector<std::vector<int64_t>> nids,
                                       AnySampler sampler, LoaderOptions options)
    : impl_(
          std::make_unique<Impl>(std::move(graph), std::move(nids), std::move(sampler), options)) {}

DistNodeDataLoader::~DistNodeDataLoader() = default;
DistNodeDataLoader::DistNodeDataLoader(DistNodeDataLoader&&) noexcept = default;

int64_t DistNodeDataLoader::num_batches() const noexcept { return impl_->loader.num_batches(); }
void DistNodeDataLoader::StartEpoch(int64_t epoch) { impl_->loader.StartEpoch(epoch); }
std::optional<NodeBatch> DistNodeDataLoader::Next() { return impl_->loader.Next(); }

}  // namespace graphd
