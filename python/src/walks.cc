// SPDX-License-Identifier: Apache-2.0
#include "graphd/walks.h"

#include <pybind11/stl.h>

#include "call.h"
#include "ids.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

py::object Table(std::vector<int64_t> values, size_t rows, size_t columns) {
  Tensor flat = TensorOf(std::move(values));
  return ToPython(Tensor(flat.dtype(), {static_cast<int64_t>(rows), static_cast<int64_t>(columns)},
                         flat.data(), flat.owner()));
}

// Returns (nodes, edge ids or None, types of the columns of nodes).
py::tuple FromWalks(Walks walks, bool edge_ids) {
  py::object edges = py::none();
  if (edge_ids) edges = Table(std::move(walks.edge_ids), walks.count, walks.length);
  py::object nodes = Table(std::move(walks.nodes), walks.count, walks.length + 1);
  return py::make_tuple(nodes, edges,
                        ToPython(std::vector<int64_t>(walks.ntypes.begin(), walks.ntypes.end())));
}

py::tuple WalkMetapath(const DistGraph& graph, const py::object& nodes,
                       const std::vector<EdgeTypeId>& metapath, const std::string& prob,
                       const std::vector<double>& restart_prob, bool edge_ids, uint64_t seed) {
  const Ids seeds(nodes, "nodes");
  const WalkOptions options{
      .prob = prob, .restart_prob = restart_prob, .edge_ids = edge_ids, .seed = seed};
  return FromWalks(Call([&] { return RandomWalk(graph, seeds, metapath, options); }), edge_ids);
}

py::tuple WalkLength(const DistGraph& graph, const py::object& nodes, int64_t length,
                     const std::string& prob, const std::vector<double>& restart_prob,
                     bool edge_ids, uint64_t seed) {
  const Ids seeds(nodes, "nodes");
  const WalkOptions options{
      .prob = prob, .restart_prob = restart_prob, .edge_ids = edge_ids, .seed = seed};
  return FromWalks(Call([&] { return RandomWalkOfLength(graph, seeds, length, options); }),
                   edge_ids);
}

py::tuple WalkNode2vec(const DistGraph& graph, const py::object& nodes, double p, double q,
                       int64_t walk_length, const std::string& prob, bool edge_ids, uint64_t seed) {
  const Ids seeds(nodes, "nodes");
  const Node2vecOptions options{.prob = prob, .edge_ids = edge_ids, .seed = seed};
  return FromWalks(Call([&] { return Node2vecWalk(graph, seeds, p, q, walk_length, options); }),
                   edge_ids);
}

// Returns (indptr, nodes, visits) for the nodes that walks from each seed visited most.
py::tuple Visited(const DistGraph& graph, const py::object& nodes, int num_traversals,
                  double termination_prob, int num_random_walks, int num_neighbors,
                  const std::vector<EdgeTypeId>& metapath, uint64_t seed) {
  const Ids seeds(nodes, "seed_nodes");
  const PinSageOptions options{.num_traversals = num_traversals,
                               .termination_prob = termination_prob,
                               .num_random_walks = num_random_walks,
                               .num_neighbors = num_neighbors,
                               .metapath = metapath,
                               .seed = seed};
  VisitedNeighbors found = Call([&] { return PinSageNeighbors(graph, seeds, options); });
  return py::make_tuple(ToPython(std::move(found.indptr)), ToPython(std::move(found.neighbors)),
                        ToPython(std::move(found.visits)));
}

}  // namespace

void DefineWalks(py::module_& m) {
  m.def("walk_metapath", &WalkMetapath);
  m.def("walk_length", &WalkLength);
  m.def("walk_node2vec", &WalkNode2vec);
  m.def("pinsage_neighbors", &Visited);
}

}  // namespace graphd::python
