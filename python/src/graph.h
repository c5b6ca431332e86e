// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>

#include "call.h"
#include "graphd/dist_graph.h"

namespace graphd::python {

// Leaving the job waits for threads, so the last of these goes without the GIL.
template <class T>
using Holder = std::unique_ptr<T, DeleteWithoutGil<T>>;

// Session, as Python holds it.
struct SessionHandle {
  std::shared_ptr<Session> session;
};

}  // namespace graphd::python
