// SPDX-License-Identifier: Apache-2.0
// Features of many dtypes and encodings, and what tests need to read them from other machines.
#pragma once
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/strings.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {

// Returns the options of a trainer that reads everything over TCP, the only one of its job.
inline Options Remote(const ServedGraphFixture& served, uint64_t row_cache) {
  Options options = served.TrainerOptions(Transport::kTcp);
  options.role = MachineRole::kTrainer;
  options.row_cache = row_cache;
  static int sessions = 0;
  options.job_id = StrCat("cache-", ::getpid(), "-", sessions++);
  return options;
}

// A graph with features of many dtypes and encodings.
inline RawGraph ManyFeatures() {
  constexpr int64_t kNodes = 4000;
  EdgeList edges;
  CounterRng random(9);
  for (int i = 0; i < 40000; i++) {
    edges.push_back({static_cast<uint32_t>(random.Below(kNodes)),
                     static_cast<uint32_t>(random.Below(kNodes) * random.Below(kNodes) / kNodes)});
  }
  RawGraph graph = HomogeneousGraph(kNodes, edges);
  const auto column = [&](const std::string& name, DType dtype, int64_t width) {
    Tensor rows = Tensor::Empty(dtype, {kNodes, width});
    for (size_t i = 0; i < rows.num_bytes(); i++) rows.data()[i] = std::byte(random.Below(60));
    graph.nodes[0].features.push_back({name, rows});
  };
  column("f32", DType::kFloat32, 33);
  for (const char* name : {"as_f16", "as_bf16", "as_i8"}) {
    Tensor rows = Tensor::Empty(DType::kFloat32, {kNodes, 17});
    for (float& value : rows.as<float>()) value = static_cast<float>(random.Below(1000)) / 8;
    rows.as<float>()[1] = -0.0F;
    rows.as<float>()[2] = 0x1p-24F;  // a denormal number of float16
    graph.nodes[0].features.push_back({name, rows});
  }
  column("f16", DType::kFloat16, 3);
  column("f64", DType::kFloat64, 5);
  column("i64", DType::kInt64, 1);
  column("u8", DType::kUInt8, 7);
  column("bool", DType::kBool, 1);
  return graph;
}

inline std::vector<int64_t> SomeIds(size_t count, int64_t below, uint64_t seed) {
  CounterRng random(seed);
  std::vector<int64_t> ids(count);
  for (int64_t& id : ids) {  // small ids are far more frequent
    id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(below)));
    id = id * static_cast<int64_t>(random.Below(1000)) / 1000;
  }
  return ids;
}

inline bool SameBits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), a.num_bytes()) == 0;
}

}  // namespace graphd::testing
