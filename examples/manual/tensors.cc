// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "graphd/dist_graph.h"
#include "graphd/sparse_optim.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const std::vector<int64_t> batch = {3, 5, 3};

  // A counter per user, to which all trainers of the job add.
  const auto seen = graphd::DistTensor::Create(
      graph,
      {.name = "seen", .type = user, .dtype = graphd::DType::kInt64});
  auto ones = graphd::Tensor::Empty(graphd::DType::kInt64, {3});
  for (auto& one : ones.as<int64_t>()) one = 1;
  seen.Add(batch, ones);
  std::cout << "user 3: " << seen.Slice(3, 4).as<int64_t>()[0] << '\n';

  // Learnable vectors; the loss is half the squared distance to 1.
  graphd::DistEmbedding vectors(
      graph, {.name = "vectors",
              .dim = 2,
              .type = user,
              .initializer = graphd::Initializer::Zeros()});
  graphd::SparseAdagrad optimizer({&vectors}, {.lr = 0.5F});
  for (int step = 0; step < 4; step++) {
    auto rows = vectors.Forward(batch);
    std::cout << "step " << step << ": " << rows.as<float>()[0] << '\n';
    for (float& value : rows.as<float>()) value -= 1;
    vectors.Backward(batch, rows);
    optimizer.Step();
  }
}
