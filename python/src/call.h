// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "graphd/interrupt.h"
#include "running_call.h"

namespace graphd::python {

namespace py = pybind11;

// Thrown when a Python exception is set.
struct Interrupted {};
// Thrown when the interpreter ends.
struct InterpreterEnds {};

// Runs pending signal handlers of Python; does nothing outside the main thread.
inline void CheckSignals() {
  if (RunningCall::AreRefused()) throw InterpreterEnds{};
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw Interrupted{};
}

// Ends this thread, as the interpreter ends: raises SystemExit, about which the interpreter writes
// nothing. A traceback could be cut off in the middle, and make the interpreter abort.
[[noreturn]] inline void EndThread() {
  PyErr_SetNone(PyExc_SystemExit);
  throw py::error_already_set();
}

// Calls `f` without the GIL, so that other Python threads run and Ctrl-C interrupts its waits. All
// calls of libclient that compute or wait use it. `f` must not touch Python objects.
template <class F>
auto Call(F&& f) {
  const RunningCall running;
  if (RunningCall::AreRefused()) EndThread();
  try {
    const py::gil_scoped_release release;
    const InterruptCheck check(CheckSignals);
    return std::forward<F>(f)();
  } catch (const Interrupted&) {
    throw py::error_already_set();
  } catch (const InterpreterEnds&) {
    EndThread();
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
    const RunningCall running;
    const py::gil_scoped_release release;
    delete object;
  }
};

}  // namespace graphd::python
