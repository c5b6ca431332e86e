// SPDX-License-Identifier: Apache-2.0
#include "local_partition.h"

#include <pybind11/stl.h>

#include "book.h"
#include "call.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "module.h"
#include "private_view.h"
#include "tensor.h"

namespace graphd::python {
namespace {

// Returns (sources, destinations, ids) of the edges of a type, by ascending id. Ids are type-wise.
py::tuple Edges(const LocalPartition& self, EdgeTypeId etype) {
  const Partition& partition = *self.partition;
  const GraphMeta& meta = partition.meta();
  const Csc& csc = partition.csc(etype);
  const PartId part = partition.id();
  const NodeTypeId dst_type = meta.schema.dst_type(etype);
  std::vector<int64_t> src(csc.indices.size()), dst(src.size()), ids(src.size());
  Call([&] {
    for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
      const int64_t node =
          meta.book.nodes().FromLocalRow(part, dst_type, static_cast<int64_t>(row));
      for (uint64_t i = csc.indptr[row]; i < csc.indptr[row + 1]; i++) {
        const uint64_t place = csc.edge_rows ? (*csc.edge_rows)[i] : i;
        src[place] = static_cast<int64_t>(csc.indices[i]);
        dst[place] = node;
        ids[place] = meta.book.edges().FromLocalRow(part, etype, static_cast<int64_t>(place));
      }
    }
  });
  return py::make_tuple(ToPython(std::move(src)), ToPython(std::move(dst)),
                        ToPython(std::move(ids)));
}

// Returns {"type/name": rows} for the features of nodes, and the same for edges.
py::tuple Features(const LocalPartition& self) {
  const Partition& partition = *self.partition;
  const Schema& schema = partition.meta().schema;
  py::dict nodes, edges;
  const auto add = [&](py::dict& to, bool is_edge, int32_t type, const std::string& of,
                       const std::vector<FeatureInfo>& infos) {
    for (const FeatureInfo& info : infos) {
      to[py::str(of + "/" + info.name)] =
          ToPython(PrivateFeature(partition, is_edge, type, info.name));
    }
  };
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    add(nodes, false, t, schema.ntype(t), partition.node_features(t));
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    add(edges, true, e, schema.etype(e).ToString(), partition.edge_features(e));
  }
  return py::make_tuple(nodes, edges);
}

}  // namespace

void DefineLocalPartition(py::module_& m) {
  py::class_<LocalPartition>(m, "LocalPartition")
      .def_property_readonly("part_id",
                             [](const LocalPartition& self) { return self.partition->id(); })
      .def_property_readonly(
          "schema", [](const LocalPartition& self) { return self.partition->meta().schema; })
      .def_property_readonly(
          "book", [](const LocalPartition& self) { return Book{self.partition->shared_meta()}; })
      .def("num_nodes", [](const LocalPartition& self,
                           NodeTypeId t) { return self.partition->num_inner_nodes(t); })
      .def("num_edges", [](const LocalPartition& self,
                           EdgeTypeId e) { return self.partition->num_inner_edges(e); })
      .def("nodes",
           [](const LocalPartition& self, NodeTypeId t) {
             return ToPython(self.partition->meta().book.nodes().IdsOf(self.partition->id(), t));
           })
      .def("edges", &Edges)
      .def("features", &Features)
      .def("feature",
           [](const LocalPartition& self, bool is_edge, int32_t type, const std::string& name) {
             return ToPython(PrivateFeature(*self.partition, is_edge, type, name));
           });
  m.def("load_partition", [](const std::string& part_config, PartId part) {
    return Call([&] {
      const PartConfig config = LoadPartConfig(part_config);
      return LocalPartition{LoadPartition(config, part)};
    });
  });
}

}  // namespace graphd::python
