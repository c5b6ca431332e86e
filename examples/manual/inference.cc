// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "graphd/layerwise.h"

int main() {
  const graphd::DistGraph graph(graphd::Initialize());
  const auto user = graph.schema().NodeTypeIdOf("user");
  const auto follows = graph.schema().EdgeTypeIdOf("follows");

  // A layer of a model: the mean of a user's row and of its followers'
  // rows.
  const auto layer = [&](const graphd::LayerBatch& batch) {
    std::vector<graphd::Tensor> out(graph.schema().num_ntypes());
    const graphd::Tensor& in = batch.rows[user];
    if (batch.block.num_dst[user] == 0)
      return out;  // another type's batch
    const auto count = batch.block.num_dst[user], width = in.shape()[1];
    out[user] = graphd::Tensor::Empty(in.dtype(), {count, width});
    const auto to = out[user].as<float>();
    std::copy_n(in.as<float>().begin(), to.size(), to.begin());
    const graphd::BlockEdges& edges = batch.block.edges[follows];
    for (int64_t v = 0; v < count; v++) {
      const int64_t begin = edges.indptr[v], end = edges.indptr[v + 1];
      for (int64_t c = 0; c < width; c++) {
        float& sum = to[v * width + c];
        for (int64_t k = begin; k < end; k++)
          sum += in.as<float>()[edges.indices[k] * width + c];
        sum /= float(1 + end - begin);
      }
    }
    return out;
  };
  const auto out =
      Layerwise(graph, {layer, layer}, {graph.ndata("feat", user)});
  std::cout << out[0].name() << ": " << out[0].num_rows()
            << " rows, from " << out[0].Slice(0, 1).as<float>()[0]
            << '\n';
}
