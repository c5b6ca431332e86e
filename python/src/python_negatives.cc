// SPDX-License-Identifier: Apache-2.0
#include "python_negatives.h"

#include "base/strings.h"
#include "call.h"
#include "ids.h"
#include "running_call.h"
#include "tensor.h"

namespace graphd::python {

PythonNegatives::PythonNegatives(py::function sample) : sample_(Keep(std::move(sample))) {}

NegativeEdges PythonNegatives::Sample(const DistGraph&, EdgeTypeId, std::span<const int64_t>,
                                      std::span<const int64_t>, uint64_t) const {
  Throw(ErrorCode::kInvalid,
        "a negative sampler of Python needs the ids of the positive edges; use a loader of edges");
}

NegativeEdges PythonNegatives::SampleFor(const DistGraph&, EdgeTypeId etype,
                                         std::span<const int64_t> eids, std::span<const int64_t>,
                                         std::span<const int64_t>, uint64_t) const {
  const RunningCall running;
  if (RunningCall::AreRefused()) {
    Throw(ErrorCode::kUnavailable, "negative sampler: the interpreter ends");
  }
  const py::gil_scoped_acquire gil;
  const py::handle sample(static_cast<PyObject*>(sample_.get()));
  const py::tuple ends = sample(etype, ToPython(std::vector<int64_t>(eids.begin(), eids.end())));
  return {Ids(ends[0], "negative sources").vector(),
          Ids(ends[1], "negative destinations").vector()};
}

}  // namespace graphd::python
