// SPDX-License-Identifier: Apache-2.0
#include "samplers.h"

#include <pybind11/stl.h>

#include "base/strings.h"
#include "batch.h"
#include "call.h"
#include "graph.h"
#include "graphd/layer_sampler.h"
#include "graphd/sampling.h"
#include "graphd/shadow_sampler.h"
#include "graphd/subgraph.h"
#include "graphd/temporal_sampler.h"
#include "ids.h"
#include "module.h"
#include "python_negatives.h"
#include "tensor.h"

namespace graphd::python {
namespace {

using IdLists = std::vector<std::vector<int64_t>>;

SamplingMethod MethodFromName(const std::string& name) {
  if (name == "uniform") return SamplingMethod::kUniform;
  if (name == "weighted") return SamplingMethod::kWeighted;
  if (name == "topk") return SamplingMethod::kTopK;
  if (name == "labor") return SamplingMethod::kLabor;
  Throw(ErrorCode::kInvalid, "method '", name, "': use uniform, weighted, topk or labor");
}

// Converts fanouts per layer: one number for all edge types, or a list with one for each.
LayerFanouts FanoutsFrom(const py::list& fanouts) {
  const bool is_typed = !fanouts.empty() && !py::isinstance<py::int_>(fanouts[0]);
  return is_typed ? LayerFanouts(fanouts.cast<std::vector<std::vector<int>>>())
                  : LayerFanouts(fanouts.cast<std::vector<int>>());
}

// Returns the handle of a sampler that `make` makes, with or without ids of edges. If `edge_ids` is
// nullopt, the batches get the ids on demand.
template <class Make>
SamplerHandle MakeSampler(std::optional<bool> edge_ids, Make make) {
  const auto made = [&](bool has_ids) {
    return std::make_shared<decltype(make(has_ids))>(make(has_ids));
  };
  if (edge_ids) return {made(*edge_ids), *edge_ids};
  const auto on_demand = std::make_shared<IdsOnDemand>(made(false), made(true));
  return {on_demand, true, on_demand};
}

SamplerHandle MakeNeighborSampler(const py::list& fanouts, bool replace,
                                  std::optional<bool> edge_ids, const std::string& method,
                                  const std::string& column, bool largest) {
  return MakeSampler(edge_ids, [&](bool has_ids) {
    return NeighborSampler(
        FanoutsFrom(fanouts),
        NeighborOptions{replace, has_ids, MethodFromName(method), column, largest});
  });
}

Batch Sample(const SamplerHandle& self, const py::object& graph, const py::sequence& seeds,
             uint64_t seed, const py::sequence& exclude, const py::object& seed_times) {
  BatchRequest request{IdsByType(seeds, "seed_nodes"), seed};
  request.exclude = IdsByType(exclude, "exclude_eids");
  TimesByType times = TimesFrom(seed_times, "seed_times");
  request.seed_times = times.whole;
  request.seed_real_times = times.real;
  const std::shared_ptr<const DistGraph> kept = KeepGraph(graph);
  NodeBatch batch;
  batch.seed = seed;
  batch.exclude = request.exclude;
  static_cast<MiniBatch&>(batch) =
      Call([&] { return self.sampler->Sample(*kept, std::move(request)); });
  batch.seed_times = std::move(times.whole);
  batch.seed_real_times = std::move(times.real);
  return Batch(std::move(batch), self, kept);
}

bool HasFeature(const DistGraph& graph, EdgeTypeId etype, const std::string& name) {
  const auto schemes = graph.edge_attr_schemes(etype);
  return std::any_of(schemes.begin(), schemes.end(),
                     [&](const auto& scheme) { return scheme.name == name; });
}

// Returns a sampling rule for every edge type that ends (begins, with kOut) in one of the nodes.
std::vector<SamplingRule> RulesOf(const DistGraph& graph, const IdLists& nodes,
                                  const std::vector<int>& fanouts, Direction direction) {
  const Schema& schema = graph.schema();
  std::vector<SamplingRule> rules;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const NodeTypeId end = direction == Direction::kOut ? schema.src_type(e) : schema.dst_type(e);
    if (static_cast<size_t>(end) >= nodes.size() || nodes[static_cast<size_t>(end)].empty()) {
      continue;
    }
    rules.push_back(
        {.etype = e, .direction = direction, .fanout = fanouts.at(static_cast<size_t>(e))});
  }
  return rules;
}

// Returns the sampled edges by edge type, each (edge type, indptr, neighbors, edge ids).
py::list Sampled(const DistGraph& graph, const IdLists& nodes, std::span<const SamplingRule> rules,
                 uint64_t seed, const IdLists& excluded) {
  std::vector<HopSeeds> hop;
  for (const auto& ids : nodes) hop.push_back({ids});
  const HopOptions options{.seed = seed, .edge_ids = true, .exclude = excluded};
  std::vector<Neighbors> found = Call([&] { return SampleHop(graph, hop, rules, options); });
  py::list result;
  for (Neighbors& some : found) {
    result.append(py::make_tuple(some.etype, ToPython(std::move(some.indptr)),
                                 ToPython(std::move(some.neighbors)),
                                 ToPython(std::move(some.edge_ids))));
  }
  return result;
}

py::list SampleEdges(const DistGraph& graph, const py::sequence& seeds,
                     const std::vector<int>& fanouts, const std::string& prob, bool replace,
                     bool is_out, uint64_t seed, const py::sequence& exclude) {
  const IdLists nodes = IdsByType(seeds, "nodes");
  auto rules = RulesOf(graph, nodes, fanouts, is_out ? Direction::kOut : Direction::kIn);
  bool has_prob = prob.empty();
  for (SamplingRule& rule : rules) {
    rule.replace = replace;
    if (prob.empty() || !HasFeature(graph, rule.etype, prob)) continue;
    rule.method = SamplingMethod::kWeighted;
    rule.column = prob;
    has_prob = true;
  }
  if (!has_prob) {
    Throw(ErrorCode::kNotFound, "prob: no edge type that ends in these nodes has a feature '", prob,
          "'; edge_attr_schemes lists the existing ones");
  }
  return Sampled(graph, nodes, rules, seed, IdsByType(exclude, "exclude_edges"));
}

py::list SelectTopK(const DistGraph& graph, const py::sequence& seeds, const std::vector<int>& k,
                    const std::string& weight, bool is_out, bool ascending) {
  const IdLists nodes = IdsByType(seeds, "nodes");
  auto rules = RulesOf(graph, nodes, k, is_out ? Direction::kOut : Direction::kIn);
  std::erase_if(rules, [](const SamplingRule& rule) { return rule.fanout == 0; });
  for (SamplingRule& rule : rules) {
    rule.method = SamplingMethod::kTopK;
    rule.column = weight;
    rule.largest = !ascending;
  }
  return Sampled(graph, nodes, rules, 0, {});
}

Batch MakeBlock(const Schema& schema, const py::sequence& dst_nodes, const py::list& samples) {
  std::vector<Neighbors> neighbors;
  for (const py::handle sample : samples) {
    const auto fields = sample.cast<py::tuple>();
    neighbors.push_back({fields[0].cast<EdgeTypeId>(), Ids(fields[1], "indptr").vector(),
                         Ids(fields[2], "neighbors").vector(),
                         Ids(fields[3], "edge ids").vector()});
  }
  EdgeBatch batch;
  batch.seeds = IdsByType(dst_nodes, "dst_nodes");
  batch.blocks.push_back(ToBlock(schema, batch.seeds, std::move(neighbors)));
  return Batch(std::move(batch));
}

// Returns (nodes by type, [(src, dst, edge ids)] by edge type).
py::tuple FromSubgraph(Subgraph subgraph) {
  py::list nodes, edges;
  for (auto& ids : subgraph.nodes) nodes.append(ToPython(std::move(ids)));
  for (auto& some : subgraph.edges) {
    edges.append(py::make_tuple(ToPython(std::move(some.src)), ToPython(std::move(some.dst)),
                                ToPython(std::move(some.edge_ids))));
  }
  return py::make_tuple(nodes, edges);
}

std::pair<py::object, py::object> SampleNegatives(const NegativeHandle& self,
                                                  const DistGraph& graph, EdgeTypeId etype,
                                                  const py::object& u, const py::object& v,
                                                  uint64_t seed) {
  const Ids src(u, "src"), dst(v, "dst");
  NegativeEdges edges = Call([&] { return self.sampler->Sample(graph, etype, src, dst, seed); });
  return {ToPython(std::move(edges.src)), ToPython(std::move(edges.dst))};
}

}  // namespace

void DefineSamplers(py::module_& m) {
  py::class_<SamplerHandle>(m, "Sampler")
      .def("sample", &Sample)
      .def_property_readonly("num_layers",
                             [](const SamplerHandle& self) { return self.sampler->num_layers(); });
  m.def("neighbor_sampler", &MakeNeighborSampler);
  m.def("layer_sampler",
        [](const py::list& fanouts, const std::string& column, std::optional<bool> edge_ids) {
          return MakeSampler(edge_ids, [&](bool has_ids) {
            return LayerSampler(FanoutsFrom(fanouts), LayerOptions{column, has_ids});
          });
        });
  m.def("shadow_sampler", [](const py::list& fanouts, bool replace, std::optional<bool> edge_ids,
                             const std::string& method, const std::string& column) {
    return MakeSampler(edge_ids, [&](bool has_ids) {
      return ShadowSampler(FanoutsFrom(fanouts),
                           NeighborOptions{replace, has_ids, MethodFromName(method), column});
    });
  });
  m.def("temporal_sampler", [](const py::list& fanouts, const std::string& column, bool recent,
                               bool replace, bool inclusive, std::optional<bool> edge_ids) {
    return MakeSampler(edge_ids, [&](bool has_ids) {
      return TemporalSampler(FanoutsFrom(fanouts),
                             TemporalOptions{column, recent, replace, inclusive, has_ids});
    });
  });

  py::class_<NegativeHandle>(m, "NegativeSampler").def("sample", &SampleNegatives);
  m.def("per_source_uniform", [](int k) {
    return NegativeHandle{std::make_shared<negative_sampler::PerSourceUniform>(k)};
  });
  m.def("global_uniform", [](int k, bool exclude_self_loops, bool replace, double redundancy) {
    return NegativeHandle{std::make_shared<negative_sampler::GlobalUniform>(k, exclude_self_loops,
                                                                            replace, redundancy)};
  });

  m.def("python_negatives", [](py::function sample) {
    return NegativeHandle{std::make_shared<PythonNegatives>(std::move(sample))};
  });

  m.def("sample_edges", &SampleEdges);
  m.def("select_topk", &SelectTopK);
  m.def("to_block", &MakeBlock);
  m.def("in_subgraph", [](const DistGraph& graph, const py::sequence& nodes) {
    const IdLists ids = IdsByType(nodes, "nodes");
    return FromSubgraph(Call([&] { return InSubgraph(graph, ids); }));
  });
  m.def("node_subgraph", [](const DistGraph& graph, const py::sequence& nodes) {
    const IdLists ids = IdsByType(nodes, "nodes");
    return FromSubgraph(Call([&] { return NodeSubgraph(graph, ids); }));
  });
  m.def("edge_subgraph", [](const DistGraph& graph, const py::sequence& edges, bool relabel) {
    const IdLists ids = IdsByType(edges, "edges");
    return FromSubgraph(Call([&] { return EdgeSubgraph(graph, ids, relabel); }));
  });
}

}  // namespace graphd::python
