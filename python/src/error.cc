// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <pybind11/pybind11.h>

#include "graphd/error.h"
#include "running_call.h"

namespace graphd::python {

namespace py = pybind11;

void TranslateErrors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const RunningCall running;
      const py::object made = py::module_::import("graphd.errors")
                                  .attr("error_of")(ErrorCodeName(error.code()), error.what());
      PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
    }
  });
}

}  // namespace graphd::python
