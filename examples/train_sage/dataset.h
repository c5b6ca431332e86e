// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <string>

#include "graphd/dist_graph.h"
#include "train_sage/options.h"
#include "train_sage/trainer_group.h"

namespace train_sage {

// What training needs to know of the graph.
struct Dataset {
  std::string feature, label;  // names of node features
  int64_t width = 0;           // floats of a node's feature
};

// Finds the features. Throws graphd::Error(kNotFound) naming the options that help, and
// Error(kInvalid) if the graph has several node or edge types.
Dataset DescribeDataset(const graphd::DistGraph& graph, const TrainOptions& options);

// Largest label + 1. Collective: each trainer looks at its share of the labels.
int64_t CountClasses(const graphd::DistGraph& graph, const Dataset& data, TrainerGroup& group);

// Feature rows as [rows, width] float32, labels as [rows] int64 with -1 for "none" (negative, or
// not a number). They share the tensor's memory where the dtype allows.
torch::Tensor AsFeatures(const graphd::Tensor& tensor);
torch::Tensor AsLabels(const graphd::Tensor& tensor);

}  // namespace train_sage
