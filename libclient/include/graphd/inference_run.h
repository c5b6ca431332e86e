// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

namespace GRAPHD_EXPORT graphd {

// The tensors of a run of layer-wise inference, for programs that compute the layers in a loop of
// their own, as the Python package does. Layerwise (graphd/layerwise.h) uses it too.
//
// The names of all tensors begin with the name of the run: `name` or `name/ntype` are the results,
// `name:layer0` and so on are the outputs of the layers before the last, `name:run` holds the
// arguments, and `name:progress` holds, for each trainer, a layer and the number of the trainer's
// batches of this layer that are done.
//
// An object must be used by one thread at a time, except that Mark may be called by another one.
class InferenceRun {
 public:
  // Texts by name that must be the same when a run is resumed. If any text differs, the text
  // "version" decides: with another version the run starts over, with the same version it is
  // refused.
  using Arguments = std::map<std::string, std::string>;
  // The point at which a trainer continues a run.
  struct Place {
    int64_t layer = 0;
    int64_t batches = 0;  // number of the trainer's batches of this layer that are done
  };

  // Adds the number of layers and the number of trainers to `arguments`, in which the caller must
  // give everything else that decides which nodes each batch of a trainer has, such as the batch
  // size. Throws Error(kInvalid) if there is no layer, the name is empty or too long, or a text is
  // not UTF-8.
  InferenceRun(DistGraph graph, std::string name, int64_t num_layers, Arguments arguments,
               bool persistent, bool resume);
  ~InferenceRun();
  InferenceRun(const InferenceRun&) = delete;
  InferenceRun& operator=(const InferenceRun&) = delete;

  // Starts the run over, or continues it, and returns the place at which this trainer continues.
  // All trainers call it together. This class does not know how many batches a layer has, so the
  // caller must check that the place does not lie beyond the last batch of its layer. Throws
  // Error(kInvalid) if the run to be resumed has other arguments; Error(kExists) if a tensor of
  // this name is not the result of such a run; Error(kDenied) if the tensor was written by another
  // job that is still running; Error(kDeadline) if a trainer does not call this function in time;
  // Error(kUnavailable) if trainer 0 fails.
  Place Begin();
  // Notes what this trainer has done, if the run can be resumed. The rows of these batches must be
  // written before. At the end of a layer, all of the layer's batches must be noted, including
  // batches without results.
  void Mark(const Place& done);
  // Returns the name of a layer's tensor. `type_name` is empty if tensors are not by node type.
  std::string TensorName(int64_t layer, const std::string& type_name) const;
  // Returns whether a layer's tensor must be persistent.
  bool IsPersistent(int64_t layer) const noexcept;
  // Waits until all trainers have finished a layer (DistGraph::WaitForAll), and drops the tensors
  // of the previous layer, which no trainer needs any more. Each trainer calls it once after each
  // layer, including layers that were already complete when the run was resumed. Throws as
  // WaitForAll does.
  void FinishLayer(int64_t layer);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphd
