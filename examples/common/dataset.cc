// SPDX-License-Identifier: Apache-2.0
#include "common/dataset.h"

#include <algorithm>
#include <initializer_list>

namespace examples {
namespace {

using graphd::DType;
using graphd::Error;
using graphd::ErrorCode;

// Returns the first of `usual` that the type has; empty if it has none.
std::string UsualFeature(const graphd::DistGraph& graph, graphd::NodeTypeId ntype,
                         std::initializer_list<const char*> usual) {
  const std::vector<std::string> names = graph.ndata_names(ntype);
  for (const char* name : usual) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  return {};
}

torch::ScalarType ScalarType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return torch::kFloat16;
    case DType::kBFloat16:
      return torch::kBFloat16;
    case DType::kFloat32:
      return torch::kFloat32;
    case DType::kFloat64:
      return torch::kFloat64;
    case DType::kUInt8:
      return torch::kUInt8;
    case DType::kBool:
      return torch::kBool;
    case DType::kInt8:
      return torch::kInt8;
    case DType::kInt16:
      return torch::kInt16;
    case DType::kInt32:
      return torch::kInt32;
    case DType::kInt64:
      return torch::kInt64;
    default:
      break;
  }
  throw Error(ErrorCode::kInvalid, std::string("a feature of dtype ") + graphd::DTypeName(dtype) +
                                       " has no counterpart in libtorch");
}

// Returns a view that keeps the tensor's memory alive.
torch::Tensor View(const graphd::Tensor& tensor) {
  auto* data = const_cast<std::byte*>(tensor.data());
  return torch::from_blob(
      data, tensor.shape(), [owner = tensor.owner()](void*) {},
      torch::TensorOptions(ScalarType(tensor.dtype())));
}

}  // namespace

std::string FindFeature(const graphd::DistGraph& graph, graphd::NodeTypeId ntype,
                        const std::string& given, const char* option,
                        std::initializer_list<const char*> usual) {
  if (!given.empty()) {
    graph.ndata(given, ntype);  // throws, listing the existing names
    return given;
  }
  if (std::string name = UsualFeature(graph, ntype, usual); !name.empty()) return name;
  std::string list;
  for (const auto& name : graph.ndata_names(ntype)) list += (list.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::kNotFound, "graph '" + graph.name() + "' has no node feature '" +
                                        *usual.begin() + "' (it has: " + list +
                                        "); name one with " + option);
}

int64_t FeatureWidth(const graphd::DistTensor& feature) {
  int64_t width = 1;
  for (size_t i = 1; i < feature.shape().size(); ++i) width *= feature.shape()[i];
  return width;
}

TypedInputs DescribeInputs(const graphd::DistGraph& graph, const std::string& feat_name) {
  TypedInputs inputs;
  for (graphd::NodeTypeId t = 0; t < graph.schema().num_ntypes(); ++t) {
    std::string name = feat_name.empty() ? UsualFeature(graph, t, {"feat", "features"})
                                         : UsualFeature(graph, t, {feat_name.c_str()});
    inputs.widths.push_back(name.empty() ? 0 : FeatureWidth(graph.ndata(name, t)));
    if (!name.empty()) inputs.features.emplace_back(t, std::move(name));
  }
  if (inputs.features.empty()) {
    throw Error(ErrorCode::kNotFound, "graph '" + graph.name() + "': no node type has a feature '" +
                                          (feat_name.empty() ? "feat" : feat_name) +
                                          "'; name one with --feat_name");
  }
  return inputs;
}

std::vector<torch::Tensor> InputRows(const TypedInputs& inputs, const graphd::MiniBatch& batch) {
  std::vector<torch::Tensor> rows(inputs.widths.size());
  for (size_t i = 0; i < inputs.features.size(); ++i) {
    rows[static_cast<size_t>(inputs.features[i].ntype)] = AsFeatures(batch.input_features[i]);
  }
  return rows;
}

int64_t CountClasses(const graphd::DistTensor& labels, TrainerGroup& group) {
  const int64_t rows = labels.num_rows();
  const int64_t begin = rows * group.rank() / group.world_size();
  const int64_t end = rows * (group.rank() + 1) / group.world_size();
  double largest = -1;
  if (begin < end) {
    largest = static_cast<double>(AsLabels(labels.Slice(begin, end)).max().item<int64_t>());
  }
  const auto classes = static_cast<int64_t>(group.Max(largest)) + 1;
  if (classes < 2) {
    throw Error(ErrorCode::kInvalid, "label '" + labels.name() + "' has fewer than two classes");
  }
  return classes;
}

torch::Tensor AsFeatures(const graphd::Tensor& tensor) {
  return View(tensor).to(torch::kFloat32).reshape({tensor.num_rows(), -1});
}

torch::Tensor AsLabels(const graphd::Tensor& tensor) {
  torch::Tensor labels = View(tensor).reshape({tensor.num_rows(), -1}).select(1, 0);
  if (labels.is_floating_point()) {
    labels = labels.to(torch::kFloat64);
    labels = labels.masked_fill(labels.isnan(), -1);
  }
  return labels.to(torch::kInt64).clamp_min(-1);
}

}  // namespace examples
