// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include "error.h"
#include "running_call.h"
#include "tensor.h"

PYBIND11_MODULE(_graphd, m) {
  using namespace graphd::python;
  m.doc() = "The bindings of libgraphclient for the package graphd; import the package instead.";
  m.attr("__version__") = GRAPHD_VERSION;
  TranslateErrors();
  m.def("use_tensors_of", &UseTensorsOf, py::arg("from_dlpack"), py::arg("torch_bool"));
  m.def("end_calls", &RunningCall::EndAll);
  m.def("forget_calls", &RunningCall::ForgetAll);
  DefineArrowTable(m);
  DefineBook(m);
  DefineCheckpoint(m);
  DefineGraph(m);
  DefineInference(m);
  DefineLocalPartition(m);
  DefinePartition(m);
  DefinePartWriter(m);
  DefineSamplers(m);
  DefineTables(m);
  DefineLoaders(m);
  DefineWalks(m);
}
