// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pybind11/pybind11.h>

#include <memory>

#include "graphd/negative.h"

namespace graphd::python {

namespace py = pybind11;

// A sampler of negative edges that is written in Python: a function of (edge type, ids of positive
// edges) that returns (sources, destinations). Loaders call it from their threads, with the GIL,
// but several calls may be under way at once. An exception of the function reaches the caller of
// the loader. Python's garbage collector does not see this object's reference to the function.
class PythonNegatives final : public NegativeSampler {
 public:
  // Requires the GIL.
  explicit PythonNegatives(py::function sample);
  // Throws Error(kInvalid): the function needs ids.
  NegativeEdges Sample(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> src,
                       std::span<const int64_t> dst, uint64_t seed) const override;
  NegativeEdges SampleFor(const DistGraph& graph, EdgeTypeId etype, std::span<const int64_t> eids,
                          std::span<const int64_t> src, std::span<const int64_t> dst,
                          uint64_t seed) const override;

 private:
  std::shared_ptr<void> sample_;  // the function
};

}  // namespace graphd::python
