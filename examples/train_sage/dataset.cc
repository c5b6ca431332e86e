// SPDX-License-Identifier: Apache-2.0
#include "train_sage/dataset.h"

#include <algorithm>
#include <initializer_list>

namespace train_sage {
namespace {

using graphd::DType;
using graphd::Error;
using graphd::ErrorCode;

std::string FindName(const graphd::DistGraph& graph, const std::string& given, const char* option,
                     std::initializer_list<const char*> usual) {
  const std::vector<std::string> names = graph.ndata_names();
  if (!given.empty()) {
    graph.ndata(given);  // throws, listing the names there are
    return given;
  }
  for (const char* name : usual) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  }
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::kNotFound, "graph '" + graph.name() + "' has no node feature '" +
                                        *usual.begin() + "' (it has: " + list +
                                        "): name one with " + option);
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

// A view: torch keeps the memory's owner.
torch::Tensor View(const graphd::Tensor& tensor) {
  auto* data = const_cast<std::byte*>(tensor.data());
  return torch::from_blob(
      data, tensor.shape(), [owner = tensor.owner()](void*) {},
      torch::TensorOptions(ScalarType(tensor.dtype())));
}

}  // namespace

Dataset DescribeDataset(const graphd::DistGraph& graph, const TrainOptions& options) {
  if (!graph.schema().is_homogeneous()) {
    throw Error(ErrorCode::kInvalid, "graph '" + graph.name() +
                                         "' has several node or edge types: train_sage trains "
                                         "on graphs with one of each");
  }
  Dataset data;
  data.feature = FindName(graph, options.feat_name, "--feat_name", {"feat", "features"});
  data.label = FindName(graph, options.label_name, "--label_name", {"label", "labels"});
  data.width = 1;
  const std::vector<int64_t> shape = graph.ndata(data.feature).shape();
  for (size_t i = 1; i < shape.size(); ++i) data.width *= shape[i];
  return data;
}

int64_t CountClasses(const graphd::DistGraph& graph, const Dataset& data, TrainerGroup& group) {
  const graphd::DistTensor labels = graph.ndata(data.label);
  const int64_t rows = labels.num_rows();
  const int64_t begin = rows * group.rank() / group.world_size();
  const int64_t end = rows * (group.rank() + 1) / group.world_size();
  double largest = -1;
  if (begin < end) {
    largest = static_cast<double>(AsLabels(labels.Slice(begin, end)).max().item<int64_t>());
  }
  const auto classes = static_cast<int64_t>(group.Max(largest)) + 1;
  if (classes < 2) {
    throw Error(ErrorCode::kInvalid, "label '" + data.label + "' has fewer than two classes");
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

}  // namespace train_sage
