// SPDX-License-Identifier: Apache-2.0
#include "graphd/inference_run.h"

#include <pybind11/stl.h>

#include "call.h"
#include "graph.h"
#include "module.h"

namespace graphd::python {

void DefineInference(py::module_& m) {
  py::class_<InferenceRun, Holder<InferenceRun>>(m, "InferenceRun")
      .def(py::init([](const DistGraph& graph, const std::string& name, int64_t num_layers,
                       const InferenceRun::Arguments& arguments, bool persistent, bool resume) {
        return Holder<InferenceRun>(
            new InferenceRun(graph, name, num_layers, arguments, persistent, resume));
      }))
      .def("begin",
           [](InferenceRun& self) {
             const InferenceRun::Place place = Call([&] { return self.Begin(); });
             return py::make_tuple(place.layer, place.batches);
           })
      .def("mark",
           [](InferenceRun& self, int64_t layer, int64_t batches) {
             Call([&] { self.Mark({layer, batches}); });
           })
      .def("tensor_name", &InferenceRun::TensorName)
      .def("is_persistent", &InferenceRun::IsPersistent)
      .def("finish_layer",
           [](InferenceRun& self, int64_t layer) { Call([&] { self.FinishLayer(layer); }); });
}

}  // namespace graphd::python
