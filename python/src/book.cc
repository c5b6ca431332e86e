// SPDX-License-Identifier: Apache-2.0
#include "book.h"

#include <pybind11/stl.h>

#include "call.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "graphd/node_split.h"
#include "ids.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

const IdMap& Map(const Book& book, bool is_edge) { return book.book().map(is_edge); }

// Returns a tensor of f(id) for every id.
template <class F>
py::object ForEach(const py::object& objects, const char* what, F&& f) {
  const Ids ids(objects, what);
  std::vector<int64_t> result;
  result.reserve(ids.span().size());
  for (const int64_t id : ids.span()) result.push_back(f(id));
  return ToPython(std::move(result));
}

py::object Owners(const Book& book, bool is_edge, int32_t type, const py::object& ids) {
  const IdMap& map = Map(book, is_edge);
  return ForEach(ids, "ids", [&](int64_t id) -> int64_t {
    return type == kHomogeneous ? map.OwnerOfHomo(id) : map.Owner(type, id);
  });
}

py::object LocalRows(const Book& book, bool is_edge, int32_t type, const py::object& ids) {
  const IdMap& map = Map(book, is_edge);
  return ForEach(ids, "ids", [&](int64_t id) {
    return type == kHomogeneous ? map.LocalHomo(id) : map.LocalRow(type, id);
  });
}

py::object IdsOf(const Book& book, bool is_edge, int32_t type, PartId part) {
  const IdMap& map = Map(book, is_edge);
  if (type != kHomogeneous) return ToPython(map.IdsOf(part, type));
  std::vector<int64_t> ids;
  for (int32_t t = 0; t < map.num_types(); t++) {
    for (const int64_t id : map.IdsOf(part, t)) ids.push_back(map.ToHomo(t, id));
  }
  return ToPython(std::move(ids));
}

py::object ToHomo(const Book& book, bool is_edge, int32_t type, const py::object& ids) {
  const IdMap& map = Map(book, is_edge);
  return ForEach(ids, "ids", [&](int64_t id) { return map.ToHomo(type, id); });
}

// Returns (types, ids within the types).
std::pair<py::object, py::object> ToTyped(const Book& book, bool is_edge,
                                          const py::object& objects) {
  const IdMap& map = Map(book, is_edge);
  const Ids homo(objects, "ids");
  std::vector<int64_t> types, ids;
  for (const int64_t id : homo.span()) {
    const auto [type, typed] = map.ToTyped(id);
    types.push_back(type);
    ids.push_back(typed);
  }
  return {ToPython(std::move(types)), ToPython(std::move(ids))};
}

int64_t CountIn(const Book& book, bool is_edge, int32_t type, PartId part) {
  const IdMap& map = Map(book, is_edge);
  return type == kHomogeneous ? map.count_in(part) : map.count_in(part, type);
}

py::object Split(const Book& book, bool is_edge, int32_t type, const py::object& mask, int rank,
                 int world_size, bool force_even, int remote_trainers) {
  const Tensor tensor = FromPython(mask, is_edge ? "edges" : "nodes");
  const SplitOptions options{rank, world_size, force_even, {}, remote_trainers};
  return ToPython(Call([&] {
    return is_edge ? EdgeSplit(book.book(), tensor, type, options)
                   : NodeSplit(book.book(), tensor, type, options);
  }));
}

}  // namespace

void DefineBook(py::module_& m) {
  using Triple = std::tuple<std::string, std::string, std::string>;
  py::class_<Schema>(m, "Schema")
      .def(py::init([](std::vector<std::string> ntypes, const std::vector<Triple>& triples) {
        std::vector<CanonicalEdgeType> etypes;
        for (const auto& [src, rel, dst] : triples) etypes.push_back({src, rel, dst});
        return Schema(std::move(ntypes), std::move(etypes));
      }))
      .def_property_readonly("ntypes",
                             [](const Schema& schema) {
                               std::vector<std::string> names;
                               for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
                                 names.push_back(schema.ntype(t));
                               }
                               return names;
                             })
      .def_property_readonly("canonical_etypes",
                             [](const Schema& schema) {
                               std::vector<Triple> names;
                               for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
                                 const CanonicalEdgeType& type = schema.etype(e);
                                 names.emplace_back(type.src, type.rel, type.dst);
                               }
                               return names;
                             })
      .def("ntype_id", &Schema::NodeTypeIdOf)
      .def("etype_id", &Schema::EdgeTypeIdOf);

  py::class_<Book>(m, "Book")
      .def_property_readonly("schema", [](const Book& book) { return book.meta->schema; })
      .def_property_readonly("graph_name", [](const Book& book) { return book.meta->graph_name; })
      .def_property_readonly("num_partitions",
                             [](const Book& book) { return book.book().num_partitions(); })
      .def_property_readonly("is_range",
                             [](const Book& book) { return book.book().nodes().is_range(); })
      .def("count", [](const Book& book, bool is_edge,
                       int32_t type) { return Map(book, is_edge).count(type); })
      .def("count_in", &CountIn)
      .def("owners", &Owners)
      .def("local_rows", &LocalRows)
      .def("ids_of", &IdsOf)
      .def("to_homo", &ToHomo)
      .def("to_typed", &ToTyped)
      .def("split", &Split);
  m.def("load_book", [](const std::string& part_config) {
    return Call([&] { return Book{LoadPartConfig(part_config).meta}; });
  });
}

}  // namespace graphd::python
