// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graphd/block.h"
#include "graphd/dist_graph.h"
#include "graphd/export.h"
#include "graphd/samplers.h"

// Layer-wise inference: the outputs of a model for all nodes of a graph, computed layer by layer.
// Matches the method `inference` of the models in DGL's examples, and graphd.inference.layerwise of
// the Python package.

namespace GRAPHD_EXPORT graphd {

// A batch of one layer.
struct LayerBatch {
  // The destinations are nodes of one type, the only one for which block.num_dst is above 0. Edges
  // hold ids if features of edges are requested.
  Block block;
  // [ntype] the layer's inputs: a row for each node of block.src_nodes[ntype], so that the first
  // rows are those of the destinations. Types without inputs have an empty vector of floats.
  std::vector<Tensor> rows;
  std::vector<Tensor> edge_rows;  // one per requested edge feature: a row for each edge of its type
};

// A layer of a model. It returns tensors by node type, [ntype]. The tensor of the destinations'
// type has the shape [destinations, dimensions of a row ...]; the other tensors are not used. A
// type for which it returns no rows, or which lies beyond the end of the vector, has no output;
// this must be the same in all batches and trainers. The function runs in the thread that calls
// Layerwise. The rows must not change after it has returned.
using LayerFunction = std::function<std::vector<Tensor>(const LayerBatch& batch)>;

// The name of a feature of one edge type, to be read with a batch.
struct FeatureOfEdgeType {
  EdgeTypeId etype = 0;
  std::string name;
};

// The settings of Layerwise.
struct LayerwiseOptions {
  // The name of the result. In a graph with several node types, the results are `name/ntype`. An
  // earlier result of the same name is replaced, and handles of the earlier result can't be read
  // any more; therefore give each result that you want to keep a name of its own.
  std::string name = "inference";
  // Fanouts per layer, as NeighborSampler takes them; none: all neighbours. The same seed gives the
  // same result, for any batch size and any number of trainers.
  std::optional<LayerFanouts> fanouts = std::nullopt;
  int64_t batch_size = 1000;  // nodes per batch, at least 1
  // Masks, each a node feature or tensor of uint8 or bool: the last layer is computed only for the
  // nodes that the masks choose, and the rows of other nodes are zeros. Node types without a mask
  // then have no result. Empty: all nodes of all types.
  std::vector<DistTensor> nodes = {};
  std::vector<FeatureOfEdgeType> edge_features = {};  // read with each batch
  bool persistent = false;                            // the result outlives the job
  // True: a run that was interrupted, even by kill -9, goes on when Layerwise is called again with
  // the same arguments. Rows and progress are persistent then, and what is complete is not computed
  // again. False: a run always starts over.
  bool resume = false;
  // Identifies the model's weights, such as the name of a checkpoint. With another version, a run
  // starts over even with `resume`.
  std::string version = {};
  uint64_t seed = 0;     // seed of sampling
  int num_workers = -1;  // threads that make batches; -1: Options::num_samplers
  // Called after each batch, by the thread that calls Layerwise, with the number of batches that
  // this trainer has done and the number of all its batches. Null: not called.
  std::function<void(int64_t done, int64_t total)> progress = nullptr;
};

// Computes the outputs of a model for all nodes. All trainers of the job call it together, and each
// computes the nodes that NodeSplit gives it. `features` are the inputs of the first layer:
// features or tensors of nodes, one for each node type that has inputs. Returns the outputs of the
// last layer, one tensor for each node type that has any, in the order of types.
//
// The rows of each layer are in a DistTensor, so that no layer is computed twice for a node and no
// trainer needs memory for the rows of all nodes. A trainer needs some bytes for each of its own
// nodes and, at the start, one byte for each node. Rows of the previous layer are dropped when all
// trainers have used them. Other threads sample and read the next batches and write the previous
// ones during the computation.
//
// Throws Error(kInvalid) if an argument or the result of a layer is not valid, or the run to be
// resumed has other arguments and the same version; Error(kExists) if a tensor of this name is not
// the result of such a run; Error(kDenied) if the tensor was written by another job that is still
// running; Error(kNotFound) for an unknown feature of edges; Error(kUnavailable) if another trainer
// leaves the job meanwhile; Error(kDeadline) if another trainer does not call this in time;
// Error(kOverloaded); and passes on what a layer throws. After an error a trainer must leave the
// job, for example by ending its process: the other trainers wait until it has left, and another
// call of this function would join their unfinished call.
std::vector<DistTensor> Layerwise(const DistGraph& graph, const std::vector<LayerFunction>& layers,
                                  const std::vector<DistTensor>& features,
                                  const LayerwiseOptions& options = {});

}  // namespace graphd
