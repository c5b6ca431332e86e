// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "graphd/dist_graph.h"
#include "tests/support/served_graph_fixture.h"

// A ring of nodes in two partitions, served by two daemons on this machine, and helpers for tests
// of tensors.

namespace graphd::testing {

class TensorFixture : public ::testing::Test {
 protected:
  static constexpr int64_t kNodes = 1000;
  using Daemons = std::vector<std::vector<int>>;

  static RawGraph Ring() {
    EdgeList edges;
    for (uint32_t v = 0; v < kNodes; v++) edges.push_back({v, (v + 1) % uint32_t{kNodes}});
    return HomogeneousGraph(kNodes, edges);
  }

  DistGraph Standalone() const { return DistGraph(Initialize(served_.StandaloneOptions())); }
  DistGraph Connect(Transport transport = Transport::kAuto, const std::string& job = "test",
                    int rank = 0, int world_size = 1) const {
    Options options = served_.TrainerOptions(transport, rank, world_size);
    options.job_id = job;
    return DistGraph(Initialize(options));
  }

  ServedGraphFixture served_{Ring(), Daemons{{0}, {1}}};
};

inline std::vector<int64_t> RandomIds(size_t count, int64_t below, uint64_t seed) {
  CounterRng random(seed);
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(below)));
  return ids;
}

// Returns random integers that every dtype can represent exactly.
inline Tensor RandomRows(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Tensor rows = Tensor::Empty(dtype, shape);
  CounterRng random(seed);
  const auto fill = [&](auto values) {
    for (auto& value : values) {
      value = static_cast<std::decay_t<decltype(value)>>(random.Below(100));
    }
  };
  if (dtype == DType::kFloat32) {
    fill(rows.as<float>());
  } else if (dtype == DType::kFloat64) {
    fill(rows.as<double>());
  } else {  // all bytes are valid
    for (size_t i = 0; i < rows.num_bytes(); i++) {
      rows.data()[i] =
          static_cast<std::byte>(dtype == DType::kBool ? random.Below(2) : random.Below(100));
    }
  }
  return rows;
}

inline Tensor Rows(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  Tensor rows = Tensor::Empty(DType::kFloat32, shape);
  std::memcpy(rows.data(), values.data(), rows.num_bytes());
  return rows;
}

inline bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), a.num_bytes()) == 0;
}

inline Tensor All(const DistTensor& tensor) { return tensor.Slice(0, tensor.num_rows()); }

}  // namespace graphd::testing
