// SPDX-License-Identifier: Apache-2.0
#include "common/rgcn.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace examples {
namespace {

const graphd::Schema kSchema({"a", "b"}, {{"a", "x", "b"}, {"b", "y", "a"}, {"a", "z", "a"}});

// Returns a block with three nodes of type a, two of them destinations, and two of type b, one of
// them a destination.
graphd::Block MakeBlock() {
  graphd::Block block;
  block.src_nodes = {{10, 11, 12}, {20, 21}};
  block.num_dst = {2, 1};
  block.edges.resize(3);
  block.edges[0] = {.etype = 0,
                    .indptr = {0, 2},
                    .indices = {0, 2},
                    .edge_ids = {},
                    .weights = {}};  // a0, a2 -> b0
  block.edges[1] = {.etype = 1,
                    .indptr = {0, 0, 3},
                    .indices = {0, 1, 1},
                    .edge_ids = {},
                    .weights = {}};  // b0, b1, b1 -> a1
  block.edges[2] = {
      .etype = 2, .indptr = {0, 1, 1}, .indices = {2}, .edge_ids = {}, .weights = {}};  // a2 -> a0
  return block;
}

// Return the matrices that take the mean over MakeBlock's edges of types x, y and z.
torch::Tensor MeanX() { return torch::tensor({{0.5f, 0.0f, 0.5f}}); }
torch::Tensor MeanY() { return torch::tensor({{0.0f, 0.0f}, {1.0f / 3, 2.0f / 3}}); }
torch::Tensor MeanZ() { return torch::tensor({{0.0f, 0.0f, 1.0f}, {0.0f, 0.0f, 0.0f}}); }

torch::Tensor Linear(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                     const std::string& name, const torch::Tensor& x) {
  const torch::Tensor y = x.matmul(parameters[name + ".weight"].t());
  const torch::Tensor* bias = parameters.find(name + ".bias");
  return bias != nullptr ? y + *bias : y;
}

TEST(RgcnConv, AddsTheMeansOfEveryEdgeTypeToTheNodesOwnRow) {
  torch::manual_seed(1);
  RgcnConv conv(kSchema, std::vector<int64_t>{4, 3}, 5, std::vector<bool>{true, true});
  const torch::Tensor a = torch::randn({3, 4}).set_requires_grad(true);
  const torch::Tensor b = torch::randn({2, 3}).set_requires_grad(true);
  const graphd::Block block = MakeBlock();
  const std::vector<torch::Tensor> out = conv->forward(block, {a, b});

  const auto p = conv->named_parameters();
  const std::vector<torch::Tensor> expected = {
      Linear(p, "self0", a.narrow(0, 0, 2)) + Linear(p, "relation1", MeanY().matmul(b)) +
          Linear(p, "relation2", MeanZ().matmul(a)),
      Linear(p, "self1", b.narrow(0, 0, 1)) + Linear(p, "relation0", MeanX().matmul(a))};
  ASSERT_EQ(out.size(), 2u);
  for (size_t t = 0; t < 2; ++t) EXPECT_TRUE(torch::allclose(out[t], expected[t], 1e-4, 1e-5));

  // The gradients of all parameters and inputs must be equal, too.
  std::vector<torch::Tensor> inputs = conv->parameters();
  inputs.insert(inputs.end(), {a, b});
  const auto gradients =
      torch::autograd::grad({out[0].square().sum() + out[1].square().sum()}, inputs);
  const auto wanted =
      torch::autograd::grad({expected[0].square().sum() + expected[1].square().sum()}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(torch::allclose(gradients[i], wanted[i], 1e-4, 1e-4)) << "input " << i;
  }
}

TEST(RgcnConv, HasNoParametersAndOutputsOfUnrequestedTypes) {
  RgcnConv conv(kSchema, std::vector<int64_t>{4, 3}, 5, std::vector<bool>{false, true});
  EXPECT_EQ(conv->parameters().size(), 3u);  // b's own weights and bias, and x's weights
  const graphd::Block block = MakeBlock();
  const std::vector<torch::Tensor> out =
      conv->forward(block, {torch::randn({3, 4}), torch::randn({2, 3})});
  EXPECT_FALSE(out[0].defined());
  EXPECT_EQ(out[1].sizes(), (std::vector<int64_t>{1, 5}));
}

TEST(Rgcn, GivesTypesWithoutFeaturesALearntVector) {
  torch::manual_seed(2);
  Rgcn rgcn(kSchema, RgcnShape{.in_widths = {4, 0},
                               .hidden = 3,
                               .out = 5,
                               .layers = 1,
                               .dropout = 0,
                               .dropout_seed = 0,
                               .out_types = {0}});
  const torch::Tensor a = torch::randn({3, 4});
  const std::vector<graphd::Block> blocks{MakeBlock()};
  const torch::Tensor out = rgcn->forward(blocks, {a, torch::Tensor()})[0];

  const auto p = rgcn->named_parameters();
  const torch::Tensor b = p["input1"].expand({2, 3});
  const torch::Tensor expected = Linear(p, "layer0.self0", a.narrow(0, 0, 2)) +
                                 Linear(p, "layer0.relation1", MeanY().matmul(b)) +
                                 Linear(p, "layer0.relation2", MeanZ().matmul(a));
  EXPECT_TRUE(torch::allclose(out, expected, 1e-4, 1e-5));
  out.sum().backward();
  EXPECT_GT(p["input1"].grad().abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace examples
