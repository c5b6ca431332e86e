// SPDX-License-Identifier: Apache-2.0
#include "graphd/data_loader.h"

#include "base/strings.h"
#include "client/batch_features.h"

namespace graphd {
namespace {

size_t Index(int32_t i) { return static_cast<size_t>(i); }

// The seeds as items of one dataset: homogeneous ids, which carry their types. (The same as
// type-wise ones where there is one type.)
std::vector<int64_t> Items(const DistGraph& graph, std::vector<std::vector<int64_t>> nids) {
  const Schema& schema = graph.schema();
  if (nids.size() != Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "nodes of ", nids.size(), " types, the graph has ",
          schema.num_ntypes(), "; give one list per node type");
  }
  const IdMap& map = graph.partition_book().nodes();
  std::vector<int64_t> items;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    const int64_t count = map.count(t);
    for (int64_t id : nids[Index(t)]) {
      if (id < 0 || id >= count) {
        Throw(ErrorCode::kInvalid, "node ", id, " of type '", schema.ntype(t), "' is outside 0..",
              count - 1);
      }
    }
    if (schema.num_ntypes() == 1) return std::move(nids[0]);
    items.reserve(items.size() + nids[Index(t)].size());
    for (int64_t id : nids[Index(t)]) items.push_back(map.ToHomo(t, id));
  }
  return items;
}

std::vector<std::vector<int64_t>> OfOneType(const DistGraph& graph, std::vector<int64_t> nids,
                                            NodeTypeId ntype) {
  const NodeTypeId types = graph.schema().num_ntypes();
  if (ntype < 0 || ntype >= types) {
    Throw(ErrorCode::kInvalid, "node type ", ntype, " is outside 0..", types - 1);
  }
  std::vector<std::vector<int64_t>> by_type(Index(types));
  by_type[Index(ntype)] = std::move(nids);
  return by_type;
}

}  // namespace

struct DistNodeDataLoader::Impl {
  Impl(DistGraph g, std::vector<std::vector<int64_t>> nids, AnySampler s, const LoaderOptions& o)
      : graph(std::move(g)),
        sampler(std::move(s)),
        features(graph, o),
        loader(graph.session(), Items(graph, std::move(nids)),
               [this](std::span<const int64_t> items, const BatchInfo& info) {
                 return Make(items, info);
               },
               {o.batch_size, o.shuffle, o.drop_last, o.seed, o.num_workers, o.queue_size,
                o.ordered}) {}

  NodeBatch Make(std::span<const int64_t> items, const BatchInfo& info) const {
    std::vector<std::vector<int64_t>> seeds(Index(graph.schema().num_ntypes()));
    for (int64_t item : items) {
      const auto [type, id] = graph.partition_book().nodes().ToTyped(item);
      seeds[Index(type)].push_back(id);
    }
    NodeBatch batch{sampler->Sample(graph, features.Request(std::move(seeds), info.seed)), {}};
    batch.index = info.index;
    features.FetchOfEdges(batch, info.stop);
    return batch;
  }

  const DistGraph graph;
  const AnySampler sampler;
  const BatchFeatures features;
  DistDataLoader<int64_t, NodeBatch> loader;  // last: its workers use the others
};

DistNodeDataLoader::DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids,
                                       AnySampler sampler, LoaderOptions options) {
  auto by_type = OfOneType(graph, std::move(nids), options.ntype);
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
