// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>

#include "call.h"
#include "graphd/dist_graph.h"

namespace graphd::python {

// A pointer that destroys its object without the GIL: the destruction of the last handle leaves the
// job, and waits for threads that may need the GIL.
template <class T>
using Holder = std::unique_ptr<T, DeleteWithoutGil<T>>;

// Returns the graph of a Python object, which it keeps alive.
inline std::shared_ptr<const DistGraph> KeepGraph(const py::object& graph) {
  const auto& kept = graph.cast<const DistGraph&>();
  return {Keep(graph), &kept};
}

// The Python handle of a session.
struct SessionHandle {
  std::shared_ptr<Session> session;
};

}  // namespace graphd::python
