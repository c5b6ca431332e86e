// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>

#include "call.h"
#include "graphd/dist_graph.h"

namespace graphd::python {

// Destroys its object without the GIL, because the destruction of the last handle leaves the job,
// which waits for threads.
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
