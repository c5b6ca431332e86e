// SPDX-License-Identifier: Apache-2.0
#include "python_negatives.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/strings.h"
#include "call.h"
#include "ids.h"
#include "tensor.h"

namespace graphd::python {
namespace {

// All threads share these two variables, which are atomic and therefore need no mutex.
std::atomic<int> running = 0;
std::atomic<bool> ended = false;

// Counts a call as running from before it asks for the GIL until it has released the GIL.
class RunningCall {
 public:
  RunningCall() {
    running++;
    if (!ended) return;
    running--;
    Throw(ErrorCode::kUnavailable, "negative sampler: the interpreter ends");
  }
  ~RunningCall() { running--; }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
};

}  // namespace

PythonNegatives::PythonNegatives(py::function sample) : sample_(Keep(std::move(sample))) {}

NegativeEdges PythonNegatives::Sample(const DistGraph&, EdgeTypeId, std::span<const int64_t>,
                                      std::span<const int64_t>, uint64_t) const {
  Throw(ErrorCode::kInvalid,
        "a negative sampler of Python needs the ids of the positive edges; use a loader of edges");
}

NegativeEdges PythonNegatives::SampleFor(const DistGraph&, EdgeTypeId etype,
                                         std::span<const int64_t> eids, std::span<const int64_t>,
                                         std::span<const int64_t>, uint64_t) const {
  const RunningCall call;
  const py::gil_scoped_acquire gil;
  const py::handle sample(static_cast<PyObject*>(sample_.get()));
  const py::tuple ends = sample(etype, ToPython(std::vector<int64_t>(eids.begin(), eids.end())));
  return {Ids(ends[0], "negative sources").vector(),
          Ids(ends[1], "negative destinations").vector()};
}

void EndPythonNegatives() {
  ended = true;
  while (running > 0) {
    {
      const py::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

void ForgetPythonNegatives() { running = 0; }

}  // namespace graphd::python
