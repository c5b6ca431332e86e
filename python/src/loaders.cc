// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "batch.h"
#include "call.h"
#include "graph.h"
#include "graphd/data_loader.h"
#include "ids.h"
#include "module.h"
#include "samplers.h"
#include "tensor.h"

namespace graphd::python {
namespace {

using TypedNames = std::vector<std::pair<int32_t, std::string>>;

LoaderOptions LoaderOptionsFrom(const py::dict& given) {
  LoaderOptions options;
  options.batch_size = given["batch_size"].cast<int64_t>();
  options.shuffle = given["shuffle"].cast<bool>();
  options.drop_last = given["drop_last"].cast<bool>();
  options.seed = given["seed"].cast<uint64_t>();
  options.num_workers = given["num_workers"].cast<int>();
  options.queue_size = given["queue_size"].cast<int64_t>();
  for (auto& [type, name] : given["input_features"].cast<TypedNames>()) {
    options.input_features.emplace_back(type, name);
  }
  for (auto& [type, name] : given["seed_features"].cast<TypedNames>()) {
    options.seed_features.emplace_back(type, name);
  }
  for (auto& [type, name] : given["edge_features"].cast<TypedNames>()) {
    options.edge_features.emplace_back(type, name);
  }
  TimesByType times = TimesFrom(given["seed_times"], "seed_times");
  options.seed_times = std::move(times.whole);
  options.seed_real_times = std::move(times.real);
  return options;
}

// Makes a sampler find the ids of edges that the features of a loader need.
void WantIdsFor(const LoaderOptions& options, const SamplerHandle& sampler) {
  if (sampler.on_demand && !options.edge_features.empty()) sampler.on_demand->WantIds();
}

// The Python handle of a loader.
template <class Loader>
struct LoaderHandle {
  Loader loader;
  SamplerHandle sampler;
  std::shared_ptr<const DistGraph> sampled;  // the graph that is sampled
  int64_t epoch = -1;
};

// Returns the next batch of an epoch, or null at the end of the epoch and if another epoch has
// begun since.
template <class Loader>
std::unique_ptr<Batch> NextOf(LoaderHandle<Loader>& self, int64_t epoch) {
  if (epoch != self.epoch) return nullptr;
  return Call([&]() -> std::unique_ptr<Batch> {
    auto batch = self.loader.Next();
    if (!batch) return nullptr;
    return std::make_unique<Batch>(std::move(*batch), self.sampler, self.sampled);
  });
}

template <class Loader>
void StartEpoch(LoaderHandle<Loader>& self, int64_t epoch) {
  self.epoch = epoch;
  Call([&] { self.loader.StartEpoch(epoch); });
}

template <class Loader>
auto DefineLoader(py::module_& m, const char* name) {
  using Handle = LoaderHandle<Loader>;
  return py::class_<Handle, Holder<Handle>>(m, name)
      .def_property_readonly("num_batches",
                             [](const Handle& self) { return self.loader.num_batches(); })
      .def("start_epoch", &StartEpoch<Loader>)
      .def("next", &NextOf<Loader>);
}

ExcludeEdges ExcludeFromName(const std::string& name) {
  if (name == "self") return ExcludeEdges::kSelf;
  if (name == "reverse_id") return ExcludeEdges::kReverseId;
  if (name == "reverse_types") return ExcludeEdges::kReverseTypes;
  return ExcludeEdges::kNone;
}

EdgeLoaderOptions EdgeOptionsFrom(const py::dict& given) {
  EdgeLoaderOptions options;
  options.exclude = ExcludeFromName(given["exclude"].cast<std::string>());
  options.reverse_eids = IdsByType(given["reverse_eids"], "reverse_eids");
  options.reverse_etypes =
      given["reverse_etypes"].cast<std::vector<std::pair<EdgeTypeId, EdgeTypeId>>>();
  if (!given["negative_sampler"].is_none()) {
    options.negative_sampler = given["negative_sampler"].cast<const NegativeHandle&>().sampler;
  }
  if (!given["g_sampling"].is_none()) {
    options.g_sampling = given["g_sampling"].cast<const DistGraph&>();
  }
  return options;
}

template <class T>
py::object View(const Batch& batch, const std::vector<T>& values) {
  return ToPython(ViewOf<T>(values, batch.data));
}

// Returns (input nodes, seeds), each a tensor if there is one node type, otherwise a dict by name.
py::tuple Nodes(const Batch& batch, const py::list& ntypes) {
  const auto input_nodes = [&](size_t t) {
    return View(batch, batch.data->input_nodes(static_cast<NodeTypeId>(t)));
  };
  const auto seeds = [&](size_t t) { return View(batch, batch.data->seeds[t]); };
  const size_t count = batch.data->seeds.size();
  if (count == 1) return py::make_tuple(input_nodes(0), seeds(0));
  py::dict of_inputs, of_seeds;
  for (size_t t = 0; t < count; t++) {
    of_inputs[ntypes[t]] = input_nodes(t);
    of_seeds[ntypes[t]] = seeds(t);
  }
  return py::make_tuple(of_inputs, of_seeds);
}

py::object EdgeIds(const Batch& batch, size_t layer, size_t etype) {
  if (!batch.late_edge_ids) {
    return View(batch, batch.data->blocks.at(layer).edges.at(etype).edge_ids);
  }
  const auto* ids = Call([&] { return &batch.late_edge_ids->Of(layer, etype); });
  return ToPython(ViewOf<int64_t>(*ids, batch.late_edge_ids));
}

py::object SeedTimes(const Batch& batch, size_t type) {
  return batch.data->seed_times.empty() ? View(batch, batch.data->seed_real_times.at(type))
                                        : View(batch, batch.data->seed_times.at(type));
}

// Returns the seed in whose tree each source, or each destination, of a block is.
py::object Roots(const Batch& batch, bool of_destinations, size_t layer, size_t type) {
  const Block& block = batch.data->blocks.at(layer);
  const std::span<const int64_t> roots = block.roots.at(type);
  const auto count = of_destinations ? static_cast<size_t>(block.num_dst.at(type)) : roots.size();
  return ToPython(ViewOf(roots.first(count), batch.data));
}

// Returns (src, dst) of an edge type's edges in a block, as local ids.
std::pair<py::object, py::object> Coo(const Batch& batch, size_t layer, size_t etype) {
  const BlockEdges& edges = batch.data->blocks.at(layer).edges.at(etype);
  std::vector<int64_t> dst(edges.indices.size());
  for (size_t row = 0; row + 1 < edges.indptr.size(); row++) {
    std::fill(dst.begin() + edges.indptr[row], dst.begin() + edges.indptr[row + 1],
              static_cast<int64_t>(row));
  }
  return {ToPython(std::vector<int64_t>(edges.indices.begin(), edges.indices.end())),
          ToPython(std::move(dst))};
}

py::tuple Pairs(const Batch& batch, bool is_negative, size_t etype) {
  const PairEdges& edges = (is_negative ? batch.data->negative : batch.data->positive).at(etype);
  return py::make_tuple(View(batch, edges.src), View(batch, edges.dst),
                        View(batch, edges.edge_ids));
}

void DefineBatch(py::module_& m) {
  const auto edges = [](const Batch& batch, size_t layer, size_t etype) -> const BlockEdges& {
    return batch.data->blocks.at(layer).edges.at(etype);
  };
  py::class_<Batch>(m, "Batch")
      .def_property_readonly("num_layers",
                             [](const Batch& self) { return self.data->blocks.size(); })
      .def("nodes", &Nodes)
      .def("src_nodes",
           [](const Batch& self, size_t layer, size_t type) {
             return View(self, self.data->blocks.at(layer).src_nodes.at(type));
           })
      .def("dst_nodes",
           [](const Batch& self, size_t layer, NodeTypeId type) {
             return ToPython(ViewOf(self.data->blocks.at(layer).dst_nodes(type), self.data));
           })
      .def_property_readonly("has_seed_times",
                             [](const Batch& self) {
                               return !self.data->seed_times.empty() ||
                                      !self.data->seed_real_times.empty();
                             })
      .def("seed_times", &SeedTimes)
      .def_property_readonly("has_roots",
                             [](const Batch& self) {
                               const auto& blocks = self.data->blocks;
                               return !blocks.empty() && !blocks.front().roots.empty();
                             })
      .def("src_roots", [](const Batch& self, size_t layer,
                           size_t type) { return Roots(self, false, layer, type); })
      .def("dst_roots", [](const Batch& self, size_t layer,
                           size_t type) { return Roots(self, true, layer, type); })
      .def("num_src",
           [](const Batch& self, size_t layer, size_t type) {
             return self.data->blocks.at(layer).src_nodes.at(type).size();
           })
      .def("num_dst", [](const Batch& self, size_t layer,
                         size_t type) { return self.data->blocks.at(layer).num_dst.at(type); })
      .def("num_edges", [edges](const Batch& self, size_t layer,
                                size_t etype) { return edges(self, layer, etype).indices.size(); })
      .def("csc",
           [edges](const Batch& self, size_t layer, size_t etype) {
             const BlockEdges& some = edges(self, layer, etype);
             return py::make_tuple(View(self, some.indptr), View(self, some.indices));
           })
      .def_property_readonly("has_edge_ids", [](const Batch& self) { return self.has_edge_ids; })
      .def("edge_ids", &EdgeIds)
      .def("weights",
           [edges](const Batch& self, size_t layer, size_t etype) {
             return View(self, edges(self, layer, etype).weights);
           })
      .def("has_weights",
           [edges](const Batch& self, size_t layer, size_t etype) {
             return !edges(self, layer, etype).weights.empty();
           })
      .def("coo", &Coo)
      .def("input_feature",
           [](const Batch& self, size_t i) { return ToPython(self.data->input_features.at(i)); })
      .def("seed_feature",
           [](const Batch& self, size_t i) { return ToPython(self.data->seed_features.at(i)); })
      .def("edge_feature",
           [](const Batch& self, size_t layer, size_t i) {
             return ToPython(self.data->edge_features.at(layer).at(i));
           })
      .def("pairs", &Pairs);
}

}  // namespace

void DefineLoaders(py::module_& m) {
  DefineBatch(m);
  DefineLoader<DistNodeDataLoader>(m, "NodeLoader")
      .def(py::init([](const py::object& graph, const py::sequence& nids,
                       const SamplerHandle& sampler, const py::dict& given) {
        auto ids = IdsByType(nids, "nids");
        LoaderOptions options = LoaderOptionsFrom(given);
        WantIdsFor(options, sampler);
        auto sampled = KeepGraph(graph);
        using Handle = LoaderHandle<DistNodeDataLoader>;
        return Holder<Handle>(Call([&] {
          DistNodeDataLoader loader(*sampled, std::move(ids), sampler.sampler, std::move(options));
          return new Handle{std::move(loader), sampler, sampled};
        }));
      }));
  DefineLoader<DistEdgeDataLoader>(m, "EdgeLoader")
      .def(py::init([](const py::object& graph, const py::sequence& eids,
                       const SamplerHandle& sampler, const py::dict& given) {
        auto ids = IdsByType(eids, "eids");
        LoaderOptions options = LoaderOptionsFrom(given);
        WantIdsFor(options, sampler);
        EdgeLoaderOptions edges = EdgeOptionsFrom(given);
        const auto of_edges = KeepGraph(graph);
        auto sampled = edges.g_sampling ? KeepGraph(given["g_sampling"]) : of_edges;
        using Handle = LoaderHandle<DistEdgeDataLoader>;
        return Holder<Handle>(Call([&] {
          DistEdgeDataLoader loader(*of_edges, std::move(ids), sampler.sampler, std::move(options),
                                    std::move(edges));
          return new Handle{std::move(loader), sampler, sampled};
        }));
      }));
}

}  // namespace graphd::python
