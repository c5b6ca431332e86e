// SPDX-License-Identifier: Apache-2.0
// Compares the sizes of pages that a daemon reports with those that the kernel shows for a
// trainer's mappings of the same memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

// Returns the sum of one field, in bytes, over this process's mappings of memory files.
uint64_t MappedFromMemoryFiles(const char* field) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string pattern = std::string(field) + ": %lu kB";
  uint64_t sum = 0;
  bool counts = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      counts = line.find("/memfd:") != std::string::npos;
    } else if (counts && std::sscanf(line.c_str(), pattern.c_str(), &kib) == 1) {
      sum += uint64_t{kib} << 10;
    }
  }
  return sum;
}

TEST(PageSizes, StatusTellsWhatTrainersHaveMapped) {
  constexpr int64_t kNodes = 1 << 16, kFeatureColumns = 256;  // 64 MiB of features
  RawGraph raw = HomogeneousGraph(kNodes, {{0, 1}});
  Tensor features = Tensor::Empty(DType::kFloat32, {kNodes, kFeatureColumns});
  std::ranges::fill(features.as<float>(), 1.0F);
  raw.nodes.at(0).features.push_back({"wide", features});
  ServedGraphFixture served(raw, {{0}}, 1);
  const auto control = ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(5));
  const PartitionStatus partition = control->Status().partitions.at(0);
  uint64_t huge = 0;
  for (const PageBytes& each : partition.page_bytes) {
    if (each.pages.starts_with("2 MiB")) huge += each.bytes;
  }

  const DistGraph trainer = DistGraph(Initialize(served.TrainerOptions(Transport::kAuto)));
  std::vector<int64_t> ids(kNodes);
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor rows = trainer.ndata("wide").Read(ids);
  EXPECT_EQ(rows.as<float>().back(), 1.0F);
  const uint64_t mapped = MappedFromMemoryFiles("ShmemPmdMapped");
  // The trainer has touched the features, and little of the other arrays.
  constexpr uint64_t kOfOthers = uint64_t{4} << 20;
  EXPECT_GE(MappedFromMemoryFiles("Rss"), uint64_t{kNodes} * kFeatureColumns * 4);
  EXPECT_LE(mapped, huge + kOfOthers);
  EXPECT_GE(mapped + kOfOthers, huge);
}

}  // namespace
}  // namespace graphd::testing
