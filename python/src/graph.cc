// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "base/strings.h"
#include "book.h"
#include "client/environment.h"
#include "client/machine_role.h"
#include "client/routing/graph_access.h"
#include "graphd/node_split.h"
#include "ids.h"
#include "local_partition.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

// Returns Options::FromEnvironment() with the values that Python gives instead.
Options SessionOptionsFrom(const py::dict& given) {
  Options options = Options::FromEnvironment();
  const auto take = [&](const char* name, auto& field) {
    if (given.contains(name) && !given[name].is_none()) {
      field = given[name].cast<std::remove_reference_t<decltype(field)>>();
    }
  };
  take("server_name", options.server_name);
  take("ip_config", options.ip_config);
  take("part_config", options.part_config);
  take("state_dir", options.state_dir);
  take("job_id", options.job_id);
  take("job_secret", options.job_secret);
  take("keys", options.keys);
  take("secret_file", options.secret_file);
  take("rank", options.rank);
  take("world_size", options.world_size);
  take("local_rank", options.local_rank);
  take("local_world_size", options.local_world_size);
  take("remote_trainers", options.remote_trainers);
  take("part", options.part);
  take("num_samplers", options.num_samplers);
  if (given.contains("row_cache") && !given["row_cache"].is_none()) {
    options.row_cache = ParseBytes(py::str(given["row_cache"]).cast<std::string>(), "row_cache");
  }
  if (given.contains("role") && !given["role"].is_none()) {
    options.role = ParseMachineRole(given["role"].cast<std::string>(), "role");
  }
  if (given.contains("timeout") && !given["timeout"].is_none()) {
    // Initialize refuses what is too long; the number of milliseconds must only fit int64_t.
    const double milliseconds = std::min(1e3 * given["timeout"].cast<double>(), 1e18);
    options.timeout = std::chrono::milliseconds(static_cast<int64_t>(milliseconds));
  }
  return options;
}

py::list Schemes(const std::vector<FeatureScheme>& schemes) {
  py::list list;
  for (const FeatureScheme& scheme : schemes) {
    list.append(py::make_tuple(scheme.name, DTypeName(scheme.dtype), scheme.shape));
  }
  return list;
}

py::object Degrees(const DistGraph& graph, bool is_out, const py::object& nodes, EdgeTypeId etype) {
  const Ids ids(nodes, is_out ? "u" : "v");
  return ToPython(
      Call([&] { return is_out ? graph.OutDegrees(ids, etype) : graph.InDegrees(ids, etype); }));
}

std::pair<py::object, py::object> Ends(const DistGraph& graph, const py::object& edges,
                                       EdgeTypeId etype) {
  const Ids ids(edges, "edges");
  EdgeEnds ends = Call([&] { return graph.FindEdges(ids, etype); });
  return {ToPython(std::move(ends.src)), ToPython(std::move(ends.dst))};
}

py::object HasEdges(const DistGraph& graph, const py::object& u, const py::object& v,
                    EdgeTypeId etype) {
  const Ids src(u, "u"), dst(v, "v");
  Tensor found = TensorOf(Call([&] { return graph.HasEdges(src, dst, etype); }));
  return ToPython(Tensor(DType::kBool, found.shape(), found.data(), found.owner()));
}

py::object SplitFeature(const DistGraph& graph, const DistTensor& mask, bool is_edge, int rank,
                        int world_size, bool force_even, const std::string& trainer_ids) {
  const SplitOptions options{rank, world_size, force_even, trainer_ids};
  return ToPython(Call(
      [&] { return is_edge ? EdgeSplit(graph, mask, options) : NodeSplit(graph, mask, options); }));
}

py::object SplitMask(const DistGraph& graph, const py::object& mask, bool is_edge, int32_t type,
                     int rank, int world_size, bool force_even, const std::string& trainer_ids) {
  const Tensor tensor = FromPython(mask, is_edge ? "edges" : "nodes");
  const SplitOptions options{rank, world_size, force_even, trainer_ids};
  return ToPython(Call([&] {
    return is_edge ? EdgeSplit(graph, tensor, type, options)
                   : NodeSplit(graph, tensor, type, options);
  }));
}

void DefineSession(py::module_& m) {
  py::class_<SessionHandle, Holder<SessionHandle>>(m, "Session")
      .def(py::init([](const py::dict& given) {
        const Options options = SessionOptionsFrom(given);
        return Holder<SessionHandle>(new SessionHandle{Call([&] { return Initialize(options); })});
      }))
      .def_property_readonly(
          "is_worker", [](const SessionHandle& self) { return self.session->options().is_worker; })
      .def_property_readonly(
          "is_standalone", [](const SessionHandle& self) { return self.session->is_standalone(); })
      .def_property_readonly("rank", [](const SessionHandle& self) { return self.session->rank(); })
      .def_property_readonly("world_size",
                             [](const SessionHandle& self) { return self.session->world_size(); })
      .def_property_readonly(
          "remote_trainers",
          [](const SessionHandle& self) { return self.session->options().remote_trainers; })
      .def_property_readonly(
          "num_samplers",
          [](const SessionHandle& self) { return self.session->options().num_samplers; })
      .def_property_readonly(
          "job_id", [](const SessionHandle& self) { return self.session->options().job_id; })
      .def("barrier", [](const SessionHandle& self) { Call([&] { self.session->Barrier(); }); });
}

const char* PolicyName(const DistTensor& tensor) {
  if (tensor.spec().policy == TensorPolicy::kRange) return "range";
  return tensor.is_edge() ? "edge" : "node";
}

void DefineDistTensor(py::module_& m) {
  py::class_<DistTensor, Holder<DistTensor>>(m, "DistTensor")
      .def_property_readonly("name", &DistTensor::name)
      .def_property_readonly("dtype",
                             [](const DistTensor& self) { return DTypeName(self.dtype()); })
      .def_property_readonly("shape", &DistTensor::shape)
      .def_property_readonly("is_edge", &DistTensor::is_edge)
      .def_property_readonly("policy", &PolicyName)
      .def_property_readonly("type", &DistTensor::type)
      .def_property_readonly("is_feature", &DistTensor::is_feature)
      .def_property_readonly("persistent",
                             [](const DistTensor& self) { return self.spec().persistent; })
      .def("read",
           [](const DistTensor& self, const py::object& rows) {
             const Ids ids(rows, "rows");
             return ToPython(Call([&] { return self.Read(ids); }));
           })
      .def("keep_cached",
           [](const DistTensor& self, const py::object& rows) {
             const Ids ids(rows, "rows");
             return Call([&] { return self.KeepCached(ids); });
           })
      .def("slice",
           [](const DistTensor& self, int64_t begin, int64_t end) {
             return ToPython(Call([&] { return self.Slice(begin, end); }));
           })
      .def("write",
           [](const DistTensor& self, const py::object& rows, const py::object& values) {
             const Ids ids(rows, "rows");
             const Tensor tensor = FromPython(values, "values");
             Call([&] { self.Write(ids, tensor); });
           })
      .def("add", [](const DistTensor& self, const py::object& rows, const py::object& values) {
        const Ids ids(rows, "rows");
        const Tensor tensor = FromPython(values, "values");
        Call([&] { self.Add(ids, tensor); });
      });
}

}  // namespace

void DefineGraph(py::module_& m) {
  DefineSession(m);
  DefineDistTensor(m);
  py::class_<DistGraph, Holder<DistGraph>>(m, "Graph")
      .def(py::init([](const SessionHandle& session, const std::string& name) {
        return Holder<DistGraph>(new DistGraph(session.session, name));
      }))
      .def_property_readonly("name", &DistGraph::name)
      .def_property_readonly("schema", &DistGraph::schema)
      .def_property_readonly(
          "book", [](const DistGraph& self) { return Book{self.access()->shared_meta()}; })
      .def_property_readonly("local_partition", &DistGraph::local_partition)
      .def("is_mapped", &DistGraph::is_mapped)
      .def("mapped_partition",
           [](const DistGraph& self, PartId part) {
             if (!self.is_mapped(part)) {
               Throw(ErrorCode::kInvalid, "partition ", part,
                     " is not in this machine's memory; read what you need by id");
             }
             return LocalPartition{self.access()->mapped(part)};
           })
      .def("num_nodes", py::overload_cast<NodeTypeId>(&DistGraph::num_nodes, py::const_))
      .def("num_edges", py::overload_cast<EdgeTypeId>(&DistGraph::num_edges, py::const_))
      .def("schemes",
           [](const DistGraph& self, bool is_edge, int32_t type) {
             return Schemes(is_edge ? self.edge_attr_schemes(type) : self.node_attr_schemes(type));
           })
      .def("data_names",
           [](const DistGraph& self, bool is_edge, int32_t type) {
             return is_edge ? self.edata_names(type) : self.ndata_names(type);
           })
      .def("data",
           [](const DistGraph& self, bool is_edge, int32_t type, const std::string& name) {
             return Holder<DistTensor>(
                 new DistTensor(is_edge ? self.edata(name, type) : self.ndata(name, type)));
           })
      .def("attach", &DistGraph::Attach)
      .def("detach",
           [](const DistGraph& self, bool is_edge, int32_t type, const std::string& name) {
             is_edge ? self.DetachEdata(name, type) : self.DetachNdata(name, type);
           })
      .def("degrees", &Degrees)
      .def("find_edges", &Ends)
      .def("has_edges_between", &HasEdges)
      .def("split_feature", &SplitFeature)
      .def("split_mask", &SplitMask)
      .def("traffic",
           [](const DistGraph& self) {
             const TrafficCounts counts = self.traffic();
             py::dict traffic;
             traffic["messages"] = counts.messages;
             traffic["row_messages"] = counts.row_messages;
             traffic["sampling_bytes"] = counts.sampling_bytes;
             traffic["row_bytes"] = counts.row_bytes;
             return traffic;
           })
      .def("row_cache_statistics",
           [](const DistGraph& self) {
             const RowCacheStatistics counts = self.row_cache_statistics();
             py::dict statistics;
             statistics["hits"] = counts.hits;
             statistics["misses"] = counts.misses;
             statistics["hit_bytes"] = counts.hit_bytes;
             statistics["inserted"] = counts.inserted;
             statistics["evicted"] = counts.evicted;
             statistics["capacity_bytes"] = counts.capacity_bytes;
             statistics["used_bytes"] = counts.used_bytes;
             statistics["kept"] = counts.kept;
             return statistics;
           })
      .def("barrier", [](const DistGraph& self) { Call([&] { self.Barrier(); }); })
      .def("wait_for_all", [](const DistGraph& self) { Call([&] { self.WaitForAll(); }); });
}

}  // namespace graphd::python
