// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "graphd/interrupt.h"

namespace graphd::python {

namespace py = pybind11;

// Thrown when a Python exception is set.
struct Interrupted {};

// Runs pending signal handlers of Python; does nothing outside the main thread.
inline void CheckSignals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw Interrupted{};
}

// Calls `f` without the GIL, so that other Python threads run and Ctrl-C interrupts its waits. All
// calls of libclient that compute or wait use it. `f` must not touch Python objects.
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

// Returns a pointer that keeps a Python object alive, and that any thread may release.
inline std::shared_ptr<void> Keep(py::object object) {
  return {object.release().ptr(), [](void* kept) {
            if (!Py_IsInitialized()) return;  // the interpreter has ended, and its memory with it
            const py::gil_scoped_acquire gil;
            Py_DECREF(static_cast<PyObject*>(kept));
          }};
}

// A deleter for classes whose destructor waits for daemons, or joins threads that may need the GIL.
template <class T>
struct DeleteWithoutGil {
  void operator()(T* object) const {
    const py::gil_scoped_release release;
    delete object;
  }
};

}  // namespace graphd::python
