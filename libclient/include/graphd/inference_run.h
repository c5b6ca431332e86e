// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

namespace GRAPHD_EXPORT graphd {

// The tensors of a run of layer-wise inference, for those who compute the layers in a loop of their
// own, as the Python package does. Layerwise (graphd/layerwise.h) uses it too.
//
// The names of all tensors begin with the run's: `name` or `name/ntype` are the results,
// `name:layer0` and so on the layers before, `name:run` are the arguments, and `name:progress` has
// for each trainer a layer and the number of its batches that are done.
//
// An object must be used by one thread at a time, except that Mark may be called by another one.
class InferenceRun {
 public:
  // Texts by name that must be the same when a run is resumed. "version" decides whether a run with
  // other values starts over or is refused.
  using Arguments = std::map<std::string, std::string>;
  // The point at which a trainer goes on.
  struct Place {
    int64_t layer = 0;
    int64_t batches = 0;  // number of its batches of this layer that are done
  };

  // Adds the numbers of layers and of trainers to the arguments. The caller adds whatever else
  // decides which nodes a trainer's batches have, such as their size. Throws Error(kInvalid) if
  // there is no layer, the name is empty or too long, or a text is not UTF-8.
  InferenceRun(DistGraph graph, std::string name, int64_t num_layers, Arguments arguments,
               bool persistent, bool resume);
  ~InferenceRun();
  InferenceRun(const InferenceRun&) = delete;
  InferenceRun& operator=(const InferenceRun&) = delete;

  // Starts the run over, or goes on with it. All trainers call it together. How many batches a
  // layer has is not known here: the caller checks that no more are done. Throws Error(kInvalid) if
  // the run to be resumed has other arguments; Error(kExists) if a tensor of this name is not the
  // result of such a run; Error(kDenied) if another job that runs has written it; Error(kDeadline)
  // if a trainer does not come in time; Error(kUnavailable) if trainer 0 fails.
  Place Begin();
  // Notes what this trainer has done, if the run can be resumed. The rows must be written before.
  // At the end of a layer, all of its batches must be noted, also those without results.
  void Mark(const Place& done);
  // Returns the name of a layer's tensor. `type_name` is empty if tensors are not by node type.
  std::string TensorName(int64_t layer, const std::string& type_name) const;
  // Returns whether a layer's tensor must be persistent.
  bool IsPersistent(int64_t layer) const noexcept;
  // Waits until all trainers have finished a layer (DistGraph::WaitForAll), and drops the tensors
  // of the previous layer, which all have used then. Each trainer calls it once after each layer,
  // also after those that were complete before. Throws as WaitForAll does.
  void FinishLayer(int64_t layer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphd
