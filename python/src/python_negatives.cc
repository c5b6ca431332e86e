// SPDX-License-Identifier: Apache-2.0
#include "python_negatives.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/strings.h"
#include "ids.h"
#include "tensor.h"

namespace graphd::python {
namespace {

std::atomic<int> running = 0;
std::atomic<bool> ended = false;

// Counts a call from before it asks for the GIL until it has given it back.
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

void DeleteWithGil(py::function* function) {
  if (!Py_IsInitialized()) return;  // the interpreter has ended, and its memory with it
  const py::gil_scoped_acquire gil;
  delete function;
}

}  // namespace

PythonNegatives::PythonNegatives(py::function sample)
    : sample_(new py::function(std::move(sample)), DeleteWithGil) {}

NegativeEdges PythonNegatives::Sample(const DistGraph& graph, EdgeTypeId etype,
                                      std::span<const int64_t> src, std::span<const int64_t> dst,
                                      uint64_t seed) const {
  return SampleFor(graph, etype, {}, src, dst, seed);
}

NegativeEdges PythonNegatives::SampleFor(const DistGraph&, EdgeTypeId etype,
                                         std::span<const int64_t> eids, std::span<const int64_t>,
                                         std::span<const int64_t>, uint64_t) const {
  const RunningCall call;
  const py::gil_scoped_acquire gil;
  const py::tuple ends =
      (*sample_)(etype, ToPython(std::vector<int64_t>(eids.begin(), eids.end())));
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
