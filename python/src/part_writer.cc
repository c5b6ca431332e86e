// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/part_writer.h"

#include <pybind11/stl.h>

#include <memory>
#include <tuple>

#include "base/index.h"
#include "base/strings.h"
#include "call.h"
#include "format/arrow/c_stream.h"
#include "format/distributed/column_numbers.h"
#include "format/io/names_file.h"
#include "format/node_names.h"
#include "format/partition/assign_nodes.h"
#include "format/publish_partitions.h"
#include "module.h"
#include "tensor.h"

// Partitions that tasks of Spark write (graphd.spark).

namespace graphd::python {
namespace {

// Opens a capsule of the Arrow PyCapsule interface, "arrow_array_stream".
std::unique_ptr<ArrowStream> Open(const py::capsule& capsule, const std::string& source) {
  auto* given =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (given == nullptr) throw py::error_already_set();
  return Call([&] { return OpenArrowStream(*given, source); });
}

// Calls f(batch) without the GIL for each batch of a stream.
template <class F>
void ForEachBatch(const py::capsule& capsule, const std::string& source, F&& f) {
  const std::unique_ptr<ArrowStream> stream = Open(capsule, source);
  Call([&] {
    ArrowBatch batch;
    while (stream->Next(batch)) f(batch);
  });
}

// The members of ColumnSummary as Python's values, which travel as text.
using Summary = std::tuple<bool, bool, bool, bool, bool, bool, bool, int64_t, int64_t, float,
                           std::optional<float>, int64_t>;

Summary ToTuple(const ColumnSummary& s) {
  return {s.is_float32,   s.is_list,           s.numbers.any,      s.numbers.floating,
          s.numbers.wide, s.numbers.all_words, s.numbers.all_bits, s.least,
          s.most,         s.range.largest,     s.range.not_finite, s.list_size};
}

ColumnSummary FromTuple(const Summary& given) {
  ColumnSummary s;
  std::tie(s.is_float32, s.is_list, s.numbers.any, s.numbers.floating, s.numbers.wide,
           s.numbers.all_words, s.numbers.all_bits, s.least, s.most, s.range.largest,
           s.range.not_finite, s.list_size) = given;
  return s;
}

// Returns the summary of each column of a table.
std::vector<std::pair<std::string, Summary>> SummarizeTable(const py::capsule& capsule,
                                                            const std::string& source) {
  std::vector<std::pair<std::string, ColumnSummary>> summaries;
  const std::unique_ptr<ArrowStream> stream = Open(capsule, source);
  Call([&] {
    for (const ArrowField& field : stream->fields()) {
      summaries.emplace_back(field.name, SummaryOf(field.type, field.name));
    }
    ArrowBatch batch;
    while (stream->Next(batch)) {
      for (size_t c = 0; c < summaries.size(); c++) {
        Summarize(batch.columns[c], summaries[c].first, summaries[c].second);
      }
    }
  });
  std::vector<std::pair<std::string, Summary>> result;
  for (const auto& [name, summary] : summaries) result.emplace_back(name, ToTuple(summary));
  return result;
}

// A planned feature: name, width, dtype, stored dtype, scale.
using Feature = std::tuple<std::string, int64_t, std::string, std::string, float>;

Feature PlanFeature(const std::string& name, const std::vector<Summary>& parts,
                    const std::string& store_as) {
  ColumnSummary all;
  for (const Summary& part : parts) all.Merge(FromTuple(part), name);
  const PlannedFeature plan = all.Plan(name, store_as);
  return {plan.name, plan.width, DTypeName(plan.encoding.dtype), DTypeName(plan.encoding.stored),
          plan.encoding.scale};
}

using Type = std::pair<std::vector<int64_t>, std::vector<Feature>>;

std::vector<PlannedType> TypesFrom(const py::handle& given) {
  std::vector<PlannedType> types;
  for (const auto& [counts, features] : given.cast<std::vector<Type>>()) {
    types.push_back({counts, {}});
    for (const auto& [name, width, dtype, stored, scale] : features) {
      const Encoding encoding{DTypeFromName(stored), DTypeFromName(dtype), scale};
      types.back().features.push_back({name, width, encoding});
    }
  }
  return types;
}

GraphPlan PlanFrom(const py::dict& given) {
  GraphPlan plan;
  plan.graph_name = given["graph_name"].cast<std::string>();
  plan.part_method = given["part_method"].cast<std::string>();
  std::vector<CanonicalEdgeType> etypes;
  using Triple = std::tuple<std::string, std::string, std::string>;
  for (const auto& [src, rel, dst] : given["etypes"].cast<std::vector<Triple>>()) {
    etypes.push_back({src, rel, dst});
  }
  plan.schema = Schema(given["ntypes"].cast<std::vector<std::string>>(), std::move(etypes));
  plan.nodes = TypesFrom(given["nodes"]);
  plan.edges = TypesFrom(given["edges"]);
  plan.edge_orig_id = given["edge_orig_id"].cast<bool>();
  return plan;
}

std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> ToTuples(const std::vector<IdSums>& sums) {
  std::vector<std::tuple<uint64_t, uint64_t, uint64_t>> tuples;
  for (const IdSums& type : sums) tuples.emplace_back(type.count, type.ids, type.squares);
  return tuples;
}

// Appends the rows of a table's only column, which has text.
void AddNames(NamesFile& file, const py::capsule& capsule) {
  const std::string source = "names of nodes";
  ForEachBatch(capsule, source, [&](const ArrowBatch& batch) {
    const ArrowColumn& column = batch.columns.at(0);
    if (column.type->kind != ArrowKind::kText || column.type->dictionary) {
      Throw(ErrorCode::kInvalid, source, ": got ", column.type->words, ", expected text");
    }
    for (int64_t row = 0; row < batch.rows; row++) {
      const std::string_view name = column.IsNull(row) ? std::string_view() : column.Text(row);
      if (name.empty() || name.find_first_of("\r\n") != name.npos) {
        Throw(ErrorCode::kInvalid, "a node has the name '", Printable(std::string(name)),
              "'; names are lines, which are not empty: remove the line break, or the row");
      }
      file.Add(name);
    }
  });
}

// Returns the partitions that AssignRandomly gives to the nodes of a type with these ids.
py::object OwnersOf(const py::handle& ids, int32_t ntype, uint64_t seed, int32_t num_parts) {
  const Tensor tensor = FromPython(ids, "ids of nodes");
  if (tensor.dtype() != DType::kInt64 || num_parts < 1 || ntype < 0) {
    Throw(ErrorCode::kInvalid, "random_owners needs int64 ids, a type and 1 partition or more");
  }
  const RandomAssignment assignment(seed, Index(ntype), num_parts);
  std::vector<int32_t> owners;
  owners.reserve(tensor.as<int64_t>().size());
  for (const int64_t id : tensor.as<int64_t>()) {
    owners.push_back(static_cast<int32_t>(assignment.OwnerOf(static_cast<uint64_t>(id))));
  }
  return ToNumpy(TensorOf(std::move(owners)));
}

}  // namespace

void DefinePartWriter(py::module_& m) {
  m.def("random_owners", OwnersOf);
  m.def("summarize_table", SummarizeTable);
  m.def("plan_feature", PlanFeature);
  py::class_<PartWriter>(m, "PartWriter")
      .def(py::init([](const py::dict& plan, PartId part, std::string directory) {
        return std::make_unique<PartWriter>(PlanFrom(plan), part, std::move(directory));
      }))
      .def("add_nodes",
           [](PartWriter& self, NodeTypeId ntype, const py::capsule& table) {
             ForEachBatch(table, "nodes",
                          [&](const ArrowBatch& batch) { self.AddNodes(ntype, batch); });
           })
      .def("add_edges",
           [](PartWriter& self, EdgeTypeId etype, const py::capsule& table) {
             ForEachBatch(table, "edges",
                          [&](const ArrowBatch& batch) { self.AddEdges(etype, batch); });
           })
      .def("finish", [](PartWriter& self) { return Call([&] { return self.Finish(); }); })
      .def_property_readonly("edge_cut", &PartWriter::edge_cut)
      .def_property_readonly("node_sums",
                             [](const PartWriter& self) { return ToTuples(self.node_sums()); })
      .def_property_readonly("edge_sums",
                             [](const PartWriter& self) { return ToTuples(self.edge_sums()); });
  py::class_<NamesFile>(m, "NamesFile")
      .def(py::init<std::string, std::string>())
      .def("add", AddNames)
      .def("finish", [](NamesFile& self) { Call([&] { self.Finish(); }); });
  m.def("node_names_file_name", NodeNamesFileName);
  m.def("check_publishing", [](const py::dict& plan, const std::string& output, bool force) {
    CheckPublishing(PlanFrom(plan), {"", output, force});
  });
  m.def("publish_partitions", [](const py::dict& plan, const std::string& staging,
                                 const std::string& output, bool force) {
    const GraphPlan from = PlanFrom(plan);
    return Call([&] { return PublishPartitions(from, {staging, output, force}); });
  });
}

}  // namespace graphd::python
