// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <utility>

#include "graphd/interrupt.h"

namespace graphd::python {

namespace py = pybind11;

// A Python exception is set.
struct Interrupted {};

// Runs what Python has put off until somebody looks: signal handlers, in the main thread.
inline void CheckSignals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw Interrupted{};
}

// Calls libclient without the GIL: other Python threads run meanwhile, and Ctrl-C ends it where it
// waits. Whatever works or waits is called so. `f` must not touch Python objects.
template <class F>
auto Call(F&& f) {
  try {
    const py::gil_scoped_release release;
    const InterruptCheck check(CheckSignals);
    return std::forward<F>(f)();
  } catch (const Interrupted&) {
    throw py::error_already_set();
  }
}

// For classes whose destructor joins threads or waits for daemons: those may need the GIL.
template <class T>
struct DeleteWithoutGil {
  void operator()(T* object) const {
    const py::gil_scoped_release release;
    delete object;
  }
};

}  // namespace graphd::python
