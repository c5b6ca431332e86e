// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "common/trainer_group.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"

// Describes a graph's features for training and converts them to libtorch's tensors.

namespace examples {

// Returns `given` or, if it is empty, the first of `usual` that the node type has. Throws
// graphd::Error(kNotFound) naming the existing features and the option that selects one.
std::string FindFeature(const graphd::DistGraph& graph, graphd::NodeTypeId ntype,
                        const std::string& given, const char* option,
                        std::initializer_list<const char*> usual);

// Returns the number of values in a node's (edge's) row.
int64_t FeatureWidth(const graphd::DistTensor& feature);

// The input features of a graph with several node types, some of which may have none.
struct TypedInputs {
  std::vector<graphd::NodeFeature> features;  // the features that loaders fetch
  std::vector<int64_t> widths;                // [ntype] values per row; 0: no features
};

// Describes the feature `feat_name` of each type, or feat or features if `feat_name` is empty.
// Throws graphd::Error(kNotFound) if no type has it.
TypedInputs DescribeInputs(const graphd::DistGraph& graph, const std::string& feat_name);

// Returns [ntype] rows of the input nodes of a batch whose loader fetches inputs.features;
// undefined for types without features.
std::vector<torch::Tensor> InputRows(const TypedInputs& inputs, const graphd::MiniBatch& batch);

// Returns the largest label + 1. Collective: each trainer reads its share of the labels.
int64_t CountClasses(const graphd::DistTensor& labels, TrainerGroup& group);

// Convert feature rows to [rows, width] float32, and labels to [rows] int64 with -1 for "none"
// (negative, or not a number). The results share the tensor's memory if the dtype allows.
torch::Tensor AsFeatures(const graphd::Tensor& tensor);
torch::Tensor AsLabels(const graphd::Tensor& tensor);

}  // namespace examples
