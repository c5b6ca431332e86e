// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <utility>

namespace graphd::python {

namespace py = pybind11;

// Calls libclient without the GIL: other Python threads run meanwhile. Whatever works or waits is
// called so. `f` must not touch Python objects.
template <class F>
auto Call(F&& f) {
  py::gil_scoped_release release;
  return std::forward<F>(f)();
}

// For classes whose destructor joins threads or waits for daemons: those may need the GIL.
template <class T>
struct DeleteWithoutGil {
  void operator()(T* object) const {
    py::gil_scoped_release release;
    delete object;
  }
};

}  // namespace graphd::python
