// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <memory>

#include "base/clock.h"
#include "base/strings.h"
#include "call.h"
#include "format/input/notes.h"
#include "format/partitioner.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

// Returns the texts of labels, a list of str without duplicates.
std::shared_ptr<const NameTable> TextsFrom(const py::list& given, const std::string& feature) {
  auto texts = std::make_shared<NameTable>();
  for (const py::handle each : given) {
    const auto text = each.cast<std::string>();
    if (text.find_first_of("\r\n") != text.npos) {
      Throw(ErrorCode::kInvalid, "feature '", feature, "' has a label with a line break, '",
            text.substr(0, 40), "'; replace it");
    }
    texts->Add(text);
  }
  if (texts->size() != given.size()) {
    Throw(ErrorCode::kInvalid, "feature '", feature, "' has ", given.size(), " labels, of which ",
          texts->size(), " are different; join equal ones");
  }
  return texts;
}

// Makes features of {name: array, or (labels, their texts)}.
std::vector<RawFeature> FeaturesFrom(const py::dict& given, int64_t rows, const std::string& of) {
  std::vector<RawFeature> features;
  for (const auto& [key, entry] : given) {
    const auto name = key.cast<std::string>();
    py::object value = py::reinterpret_borrow<py::object>(entry);
    std::shared_ptr<const NameTable> labels;
    if (py::isinstance<py::tuple>(value)) {
      const auto pair = value.cast<py::tuple>();
      labels = TextsFrom(pair[1], name);
      value = pair[0];
    }
    RawFeature feature{name, FromPython(value, "a feature"), std::move(labels)};
    if (feature.values.shape().empty() || feature.values.num_rows() != rows) {
      Throw(ErrorCode::kInvalid, "feature '", feature.name, "' of ", of, " has ",
            feature.values.shape().empty() ? 0 : feature.values.num_rows(), " rows, expected ",
            rows);
    }
    features.push_back(std::move(feature));
  }
  return features;
}

// Checks that ids are in range, and returns the same bytes with the dtype of the partitioner.
Tensor Ends(py::handle ids, int64_t num_nodes, const std::string& of) {
  const Tensor tensor = FromPython(ids, "ends of edges");
  if (tensor.dtype() != DType::kInt64 || tensor.shape().size() != 1) {
    Throw(ErrorCode::kInvalid, "ends of the edges ", of,
          " must be one-dimensional int64 tensors; convert them where they are made");
  }
  for (const int64_t id : tensor.as<int64_t>()) {
    if (id < 0 || id >= num_nodes) {
      Throw(ErrorCode::kInvalid, "an edge of ", of, " ends in node ", id,
            ", but its type has the nodes 0..", num_nodes - 1);
    }
  }
  return Tensor(DType::kUInt64, tensor.shape(), const_cast<std::byte*>(tensor.data()),
                tensor.owner());
}

// Makes a graph from nodes, [(type, count, {feature})], and edges, [(src type, relation, dst type,
// src, dst, {feature})].
RawGraph GraphFrom(const py::list& nodes, const py::list& edges) {
  std::vector<std::string> ntypes;
  std::vector<CanonicalEdgeType> etypes;
  RawGraph graph;
  for (const py::handle each : nodes) {
    const auto fields = each.cast<py::tuple>();
    ntypes.push_back(fields[0].cast<std::string>());
    RawNodes raw;
    raw.count = fields[1].cast<int64_t>();
    raw.features = FeaturesFrom(fields[2], raw.count, ntypes.back());
    graph.nodes.push_back(std::move(raw));
  }
  for (const py::handle each : edges) {
    const auto fields = each.cast<py::tuple>();
    etypes.push_back({fields[0].cast<std::string>(), fields[1].cast<std::string>(),
                      fields[2].cast<std::string>()});
  }
  graph.schema = Schema(ntypes, etypes);
  for (size_t e = 0; e < etypes.size(); e++) {
    const auto fields = edges[e].cast<py::tuple>();
    const auto type = static_cast<EdgeTypeId>(e);
    const auto count_of = [&](NodeTypeId t) { return graph.nodes[static_cast<size_t>(t)].count; };
    RawEdges raw;
    raw.src = Ends(fields[3], count_of(graph.schema.src_type(type)), etypes[e].ToString());
    raw.dst = Ends(fields[4], count_of(graph.schema.dst_type(type)), etypes[e].ToString());
    if (raw.src.num_rows() != raw.dst.num_rows()) {
      Throw(ErrorCode::kInvalid, "edges ", etypes[e].ToString(), " have ", raw.src.num_rows(),
            " sources and ", raw.dst.num_rows(), " destinations");
    }
    raw.features = FeaturesFrom(fields[5], raw.src.num_rows(), etypes[e].ToString());
    graph.edges.push_back(std::move(raw));
  }
  return graph;
}

// Returns a callback that calls show(step, done, total), a Python function, at most ten times a
// second and for each new step, and lets Ctrl-C end the task.
StepProgress ShowIn(const py::function& show) {
  constexpr double kSeconds = 0.1;
  return [kept = Keep(show), last = Clock::time_point(), current = std::string()](
             const std::string& step, uint64_t done, uint64_t total) mutable {
    if (step == current && SecondsSince(last) < kSeconds) return;
    current = step;
    last = Clock::now();
    CheckSignals();
    const py::gil_scoped_acquire gil;
    py::handle(static_cast<PyObject*>(kept.get()))(step, done, total);
  };
}

PartitionOptions PartitionOptionsFrom(const py::dict& given) {
  PartitionOptions options;
  options.graph_name = given["graph_name"].cast<std::string>();
  options.output = given["output"].cast<std::string>();
  options.force = given["force"].cast<bool>();
  options.num_parts = given["num_parts"].cast<PartId>();
  options.method = PartMethodFromName(given["part_method"].cast<std::string>());
  options.objective = ObjectiveFromName(given["objtype"].cast<std::string>());
  options.seed = given["seed"].cast<uint64_t>();
  options.balance_ntypes = given["balance_ntypes"].cast<std::vector<std::string>>();
  options.balance_edges = given["balance_edges"].cast<bool>();
  options.storage.edge_orig_id = given["edge_orig_id"].cast<bool>();
  options.storage.store_as = given["store_as"].cast<std::vector<std::string>>();
  options.num_trainers_per_machine = given["num_trainers_per_machine"].cast<int>();
  return options;
}

}  // namespace

void DefinePartition(py::module_& m) {
  m.def("partition_graph", [](const py::list& nodes, const py::list& edges, bool add_reverse,
                              const py::dict& given, const py::function& show) {
    PartitionOptions options = PartitionOptionsFrom(given);
    options.progress = ShowIn(show);
    RawGraph graph = GraphFrom(nodes, edges);
    std::vector<std::string> notes;
    const PartitionSummary summary = Call([&] {
      notes = MissingNotes(graph);
      if (add_reverse) AddReverseEdges(graph);
      return PartitionGraph(graph, options);
    });
    return py::make_tuple(summary.part_config, notes);
  });
}

}  // namespace graphd::python
