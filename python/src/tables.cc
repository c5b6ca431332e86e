// SPDX-License-Identifier: Apache-2.0
// Bindings of the tensors that trainers make: DistTensor, DistEmbedding and their optimisers.
#include <pybind11/stl.h>

#include <cstring>

#include "base/strings.h"
#include "graph.h"
#include "graphd/dist_embedding.h"
#include "graphd/sparse_optim.h"
#include "ids.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

Initializer InitializerFrom(const py::tuple& given) {
  const auto kind = given[0].cast<std::string>();
  const auto a = given[1].cast<double>(), b = given[2].cast<double>();
  const auto seed = given[3].cast<uint64_t>();
  if (kind == "constant") return Initializer::Constant(a);
  if (kind == "uniform") return Initializer::Uniform(a, b, seed);
  if (kind == "normal") return Initializer::Normal(a, b, seed);
  Throw(ErrorCode::kInvalid, "initialiser '", kind, "': use constant, uniform or normal");
}

TensorSpec SpecFrom(const py::dict& given) {
  TensorSpec spec;
  spec.name = given["name"].cast<std::string>();
  spec.persistent = given["persistent"].cast<bool>();
  const auto policy = given["policy"].cast<std::string>();
  spec.policy = policy == "node"   ? TensorPolicy::kNode
                : policy == "edge" ? TensorPolicy::kEdge
                                   : TensorPolicy::kRange;
  spec.type = given["type"].cast<int32_t>();
  spec.rows = given["rows"].cast<int64_t>();
  spec.dtype = DTypeFromName(given["dtype"].cast<std::string>());
  spec.row_shape = given["row_shape"].cast<std::vector<int64_t>>();
  spec.initializer = InitializerFrom(given["initializer"]);
  spec.writers =
      given["many_writers"].cast<bool>() ? TensorWriters::kMany : TensorWriters::kExclusive;
  return spec;
}

// Wraps a function fill(begin, shape) of Python, which returns the rows from `begin` on, for a call
// without the GIL. `fill` must outlive the result.
DistTensor::Fill FillWith(const py::object& fill) {
  return [&fill](int64_t begin, Tensor& rows) {
    py::gil_scoped_acquire gil;
    const Tensor values =
        FromPython(fill(begin, py::tuple(py::cast(rows.shape()))), "the result of init_func");
    if (values.dtype() != rows.dtype() || values.shape() != rows.shape()) {
      Throw(ErrorCode::kInvalid, "init_func returned ", DTypeName(values.dtype()), " with ",
            values.num_elements(), " elements, expected ", DTypeName(rows.dtype()), " with ",
            rows.num_elements(), "; return a tensor of the shape and dtype that it is given");
    }
    std::memcpy(rows.data(), values.data(), values.num_bytes());
  };
}

Holder<DistTensor> Create(const DistGraph& graph, const py::dict& given, const py::object& fill) {
  const TensorSpec spec = SpecFrom(given);
  return Holder<DistTensor>(Call([&] {
    return new DistTensor(fill.is_none() ? DistTensor::Create(graph, spec)
                                         : DistTensor::Create(graph, spec, FillWith(fill)));
  }));
}

py::list List(const DistGraph& graph) {
  const std::vector<TensorInfo> infos = Call([&] { return DistTensor::List(graph); });
  py::list list;
  for (const TensorInfo& info : infos) {
    py::dict entry;
    entry["name"] = info.spec.name;
    entry["shape"] = info.spec.shape();
    entry["dtype"] = DTypeName(info.spec.dtype);
    entry["persistent"] = info.spec.persistent;
    entry["state"] = OptimizerStateName(info.state);
    entry["holder"] = info.holder;
    list.append(entry);
  }
  return list;
}

Holder<DistEmbedding> MakeEmbedding(const DistGraph& graph, const py::dict& given,
                                    const py::object& fill) {
  const TensorSpec spec = SpecFrom(given);
  const EmbeddingOptions options{spec.name, spec.row_shape.at(0), spec.policy,     spec.type,
                                 spec.rows, spec.initializer,     spec.persistent, spec.writers};
  return Holder<DistEmbedding>(Call([&] {
    return fill.is_none() ? new DistEmbedding(graph, options)
                          : new DistEmbedding(graph, options, FillWith(fill));
  }));
}

void DefineEmbedding(py::module_& m) {
  py::class_<DistEmbedding, Holder<DistEmbedding>>(m, "Embedding")
      .def(py::init(&MakeEmbedding))
      .def_property_readonly("weight",
                             [](const DistEmbedding& self) {
                               return Holder<DistTensor>(new DistTensor(self.weight()));
                             })
      .def("forward",
           [](const DistEmbedding& self, const py::object& rows) {
             const Ids ids(rows, "idx");
             return ToPython(Call([&] { return self.Forward(ids); }));
           })
      .def("backward",
           [](DistEmbedding& self, const py::object& rows, const py::object& gradients) {
             const Ids ids(rows, "idx");
             const Tensor values = FromPython(gradients, "gradients");
             Call([&] { self.Backward(ids, values); });
           })
      .def("zero_grad", &DistEmbedding::ZeroGrad)
      .def_property_readonly("pending_rows", &DistEmbedding::pending_rows);
}

std::vector<DistEmbedding*> Embeddings(const py::tuple& given) {
  std::vector<DistEmbedding*> embeddings;
  for (const py::handle each : given) embeddings.push_back(each.cast<DistEmbedding*>());
  return embeddings;
}

StepOptions StepOptionsFrom(const py::dict& given) {
  StepOptions options;
  options.lr = given["lr"].cast<float>();
  options.weight_decay = given["weight_decay"].cast<float>();
  options.sum_duplicates = given["sum_duplicates"].cast<bool>();
  options.mode =
      given["synchronous"].cast<bool>() ? StepMode::kSynchronous : StepMode::kIndependent;
  options.staleness = given["staleness"].cast<int>();
  return options;
}

// keep_alive keeps the tuple of embeddings, which must outlive the optimiser.
template <class Optimizer, class... Numbers>
void DefineOptimizer(py::module_& m, const char* name) {
  py::class_<Optimizer, SparseOptimizer, Holder<Optimizer>>(m, name).def(
      py::init([](const py::tuple& embeddings, const py::dict& options, Numbers... numbers) {
        const auto pointers = Embeddings(embeddings);
        const StepOptions step = StepOptionsFrom(options);
        return Holder<Optimizer>(Call([&] { return new Optimizer(pointers, step, numbers...); }));
      }),
      py::keep_alive<1, 2>());
}

}  // namespace

void DefineTables(py::module_& m) {
  m.def("create_tensor", &Create);
  m.def("open_tensor", [](const DistGraph& graph, const std::string& name) {
    return Holder<DistTensor>(Call([&] { return new DistTensor(DistTensor::Open(graph, name)); }));
  });
  m.def("drop_tensor", [](const DistGraph& graph, const std::string& name) {
    Call([&] { DistTensor::Drop(graph, name); });
  });
  m.def("list_tensors", &List);
  DefineEmbedding(m);
  py::class_<SparseOptimizer, Holder<SparseOptimizer>>(m, "SparseOptimizer")
      .def("step", [](SparseOptimizer& self) { Call([&] { self.Step(); }); })
      .def("zero_grad", &SparseOptimizer::ZeroGrad)
      .def("wait", [](SparseOptimizer& self) { Call([&] { self.Wait(); }); })
      .def_property("lr", &SparseOptimizer::lr, &SparseOptimizer::set_lr);
  DefineOptimizer<SparseSGD>(m, "SparseSGD");
  DefineOptimizer<SparseAdagrad, float, bool>(m, "SparseAdagrad");
  DefineOptimizer<SparseAdam, float, float, float>(m, "SparseAdam");
}

}  // namespace graphd::python
