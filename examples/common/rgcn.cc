// SPDX-License-Identifier: Apache-2.0
#include "common/rgcn.h"

#include <cmath>

#include "common/ops.h"

namespace examples {
namespace {

torch::nn::Linear MakeLinear(int64_t in, int64_t out, bool bias) {
  torch::nn::Linear linear(torch::nn::LinearOptions(in, out).bias(bias));
  torch::nn::init::xavier_uniform_(linear->weight, torch::nn::init::calculate_gain(torch::kReLU));
  return linear;
}

}  // namespace

RgcnConvImpl::RgcnConvImpl(const graphd::Schema& schema, const std::vector<int64_t>& in_widths,
                           int64_t out_width, const std::vector<bool>& wanted) {
  for (graphd::NodeTypeId t = 0; t < schema.num_ntypes(); ++t) {
    const auto at = static_cast<size_t>(t);
    self_.emplace_back(nullptr);
    if (!wanted[at]) continue;
    self_.back() = register_module("self" + std::to_string(t),
                                   MakeLinear(in_widths[at], out_width, /*bias=*/true));
  }
  for (graphd::EdgeTypeId e = 0; e < schema.num_etypes(); ++e) {
    src_.push_back(schema.src_type(e));
    dst_.push_back(schema.dst_type(e));
    relations_.emplace_back(nullptr);
    if (!wanted[static_cast<size_t>(dst_.back())]) continue;
    const int64_t in = in_widths[static_cast<size_t>(src_.back())];
    relations_.back() =
        register_module("relation" + std::to_string(e), MakeLinear(in, out_width, /*bias=*/false));
  }
}

std::vector<torch::Tensor> RgcnConvImpl::forward(const graphd::Block& block,
                                                 const std::vector<torch::Tensor>& x) {
  std::vector<torch::Tensor> out(self_.size());
  for (size_t t = 0; t < self_.size(); ++t) {
    if (self_[t].is_empty() || block.num_dst[t] == 0) continue;
    out[t] = self_[t](x[t].narrow(0, 0, block.num_dst[t]));
  }
  for (size_t e = 0; e < relations_.size(); ++e) {
    const graphd::BlockEdges& edges = block.edges[e];
    torch::Tensor& sum = out[static_cast<size_t>(dst_[e])];
    if (edges.indices.empty() || !sum.defined()) continue;
    const torch::Tensor mean = MeanOverNeighbors(x[static_cast<size_t>(src_[e])], edges);
    sum = sum + relations_[e](mean);
  }
  return out;
}

RgcnImpl::RgcnImpl(const graphd::Schema& schema, const RgcnShape& shape)
    : dropout_(shape.dropout), dropout_seed_(shape.dropout_seed << 32) {
  std::vector<int64_t> widths = shape.in_widths;
  for (size_t t = 0; t < widths.size(); ++t) {
    input_vectors_.emplace_back();
    if (widths[t] > 0) continue;
    widths[t] = shape.hidden;
    input_vectors_[t] = register_parameter(
        "input" + std::to_string(t), torch::randn({1, shape.hidden}) / std::sqrt(shape.hidden));
  }
  for (int i = 0; i < shape.layers; ++i) {
    const bool last = i + 1 == shape.layers;
    std::vector<bool> wanted(widths.size(), !last);
    for (const graphd::NodeTypeId t : shape.out_types) wanted[static_cast<size_t>(t)] = true;
    layers_.push_back(
        register_module("layer" + std::to_string(i),
                        RgcnConv(schema, widths, last ? shape.out : shape.hidden, wanted)));
    widths.assign(widths.size(), shape.hidden);
  }
  draws_ = register_buffer("draws", torch::zeros({1}, torch::kInt64));
}

std::vector<torch::Tensor> RgcnImpl::forward(const std::vector<graphd::Block>& blocks,
                                             std::vector<torch::Tensor> x) {
  for (size_t t = 0; t < x.size(); ++t) {
    if (x[t].defined()) continue;
    const auto rows = static_cast<int64_t>(blocks.front().src_nodes[t].size());
    x[t] = input_vectors_[t].expand({rows, -1});
  }
  int64_t& draws = *draws_.data_ptr<int64_t>();
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (torch::Tensor& rows : x) {
      if (!rows.defined()) continue;
      if (i > 0) rows = torch::relu(rows);
      if (is_training() && dropout_ > 0) {
        rows = DropoutByKey(rows, dropout_seed_ + static_cast<uint64_t>(draws++), dropout_);
      }
    }
    x = layers_[i](blocks[i], x);
  }
  return x;
}

}  // namespace examples
