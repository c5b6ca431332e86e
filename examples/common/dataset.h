// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "common/trainer_group.h"
#include "graphd/data_loader.h"
#include "graphd/dist_graph.h"

// What training needs to know of a graph's features, and their way into libtorch.

namespace examples {

// `given`, or if it is empty the first of `usual` that the node type has. Throws
// graphd::Error(kNotFound) naming the features there are and the option that helps.
std::string FindFeature(const graphd::DistGraph& graph, graphd::NodeTypeId ntype,
                        const std::string& given, const char* option,
                        std::initializer_list<const char*> usual);

// Numbers in a node's (edge's) row.
int64_t FeatureWidth(const graphd::DistTensor& feature);

// The input features of a graph with several node types, some of which may have none.
struct TypedInputs {
  std::vector<graphd::NodeFeature> features;  // what loaders are asked for
  std::vector<int64_t> widths;                // [ntype] numbers in a row; 0: the type has none
};

// Of each type the feature `feat_name`, or feat or features if that is empty. Throws
// graphd::Error(kNotFound) if no type has it.
TypedInputs DescribeInputs(const graphd::DistGraph& graph, const std::string& feat_name);

// [ntype] rows of the input nodes of a batch whose loader was asked for inputs.features; undefined
// for types without features.
std::vector<torch::Tensor> InputRows(const TypedInputs& inputs, const graphd::MiniBatch& batch);

// Largest label + 1. Collective: each trainer looks at its share of the labels.
int64_t CountClasses(const graphd::DistTensor& labels, TrainerGroup& group);

// Feature rows as [rows, width] float32, labels as [rows] int64 with -1 for "none" (negative, or
// not a number). They share the tensor's memory where the dtype allows.
torch::Tensor AsFeatures(const graphd::Tensor& tensor);
torch::Tensor AsLabels(const graphd::Tensor& tensor);

}  // namespace examples
