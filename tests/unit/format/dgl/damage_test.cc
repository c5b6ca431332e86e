// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "format/load.h"
#include "format/load_part_config.h"
#include "tests/unit/format/allocation_limit.h"
#include "tests/unit/format/fixture_files.h"
#include "tests/unit/format/hand_made.h"
#include "tests/unit/format/mutate.h"

// Every damaged file leads to an Error with a suitable code, or to a partition whose bytes can all
// be read: no crash, no other exception, no hang, no allocation of sizes that only the file claims.
// The asan preset also detects reads beyond an end.

namespace graphd::test {
namespace {

using Clock = std::chrono::steady_clock;

// The files have a few KiB; segments of three small files take that plus rounding.
constexpr size_t kLargestBlock = size_t{1} << 20;
constexpr size_t kLargestFile = size_t{1} << 20;

// The unused bytes in a graph file's header, which no reader uses.
constexpr size_t kRubbishBegin = 32, kRubbishEnd = 4096;

class DamagedFiles : public testing::Test {
 protected:
  // Reads all arrays of a partition.
  static uint64_t ReadAllOf(const Partition& partition) {
    uint64_t sum = 0;
    const Schema& schema = partition.meta().schema;
    for (const auto& segment : partition.segments()) {
      for (const ArraySpec& spec : segment->layout().arrays()) {
        const Tensor array = segment->array(spec.name);
        for (size_t i = 0; i < array.num_bytes(); i++)
          sum += static_cast<uint64_t>(array.data()[i]);
      }
    }
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      const Csc& csc = partition.csc(e);
      const IdMap& nodes = partition.meta().book.nodes();
      for (size_t i = 0; i < csc.indices.size(); i++) {
        sum += static_cast<uint64_t>(
            nodes.ToHomo(schema.src_type(e), static_cast<int64_t>(csc.indices[i])));
      }
    }
    return sum;
  }

  void Try(const std::string& json, const std::string& what) {
    const Clock::time_point begin = Clock::now();
    try {
      const AllocationLimit limit(kLargestBlock, kLargestFile);
      const PartConfig config = LoadPartConfig(folder_ / json);
      EstimatePartitionBytes(config, 0);
      const auto partition = LoadPartition(config, 0);
      sum_ += ReadAllOf(*partition);
      outcomes_["valid"]++;
    } catch (const Error& error) {
      outcomes_[ErrorCodeName(error.code())]++;
      const bool fits = error.code() == ErrorCode::kCorrupt ||
                        error.code() == ErrorCode::kVersion || error.code() == ErrorCode::kNotFound;
      EXPECT_TRUE(fits) << what << ": " << ErrorCodeName(error.code()) << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(folder_.path()), std::string::npos)
          << what << ": no file is named: " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": not an Error: " << error.what();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_LT(seconds, 5) << what;
    slowest_ = std::max(slowest_, seconds);
  }

  void DamageFile(const std::string& json, const std::string& name, Damage damage) {
    const std::string original = ReadAll(folder_ / name);
    size_t tried = 0;
    outcomes_.clear();
    slowest_ = 0;
    Mutate(original, damage, [&](const std::string& how, const std::string& bytes) {
      WriteAll(folder_ / name, bytes);
      Try(json, name + " " + how);
      tried++;
    });
    WriteAll(folder_ / name, original);
    std::printf("%-22s %5zu mutations:", name.c_str(), tried);
    for (const auto& [outcome, count] : outcomes_) std::printf(" %zu %s,", count, outcome.c_str());
    std::printf(" slowest %.0f ms\n", slowest_ * 1000);
    EXPECT_GT(tried, 100u);
    EXPECT_GT(outcomes_["corrupt"], tried / 4);
  }

  TempFolder folder_;
  HandMade made_{{{5, 7}, {6, 3}}, 12, 11};
  std::map<std::string, size_t> outcomes_;
  double slowest_ = 0;
  uint64_t sum_ = 0;
};

TEST(AllocationLimit, RefusesLargeBlocksAndLargeMemoryFiles) {
  SegmentLayout layout;
  layout.Add("x", DType::kUInt8, {4 << 20});
  const AllocationLimit limit(kLargestBlock, kLargestFile);
  EXPECT_THROW(std::string(2 << 20, 'x'), std::bad_alloc);
  EXPECT_THROW(SegmentWriter("large", layout), Error);
}

TEST_F(DamagedFiles, GraphsOfEveryStoredFormatAreRefusedOrReadable) {
  for (int formats : {int{kCoo}, int{kCsr}, int{kCsc}, kCoo | kCsr | kCsc}) {
    made_.Write(folder_.path(), formats);
    const auto seed = static_cast<uint64_t>(formats);
    DamageFile("hand.json", "part0/graph.dgl", {seed, 1000, 11, kRubbishBegin, kRubbishEnd});
  }
}

TEST_F(DamagedFiles, GraphsInAnyOrderAreRefusedOrReadable) {
  made_.Write(folder_.path(), kCoo, true, /*shuffled=*/true);
  DamageFile("hand.json", "part0/graph.dgl", {5, 1000, 11, kRubbishBegin, kRubbishEnd});
}

TEST_F(DamagedFiles, FeaturesAreRefusedOrReadable) {
  made_.Write(folder_.path());
  DamageFile("hand.json", "part0/node_feat.dgl", {6, 800, 3});
  DamageFile("hand.json", "part0/edge_feat.dgl", {7, 800, 5});
}

TEST_F(DamagedFiles, PartConfigsAreRefusedOrReadable) {
  made_.Write(folder_.path());
  DamageFile("hand.json", "hand.json", {8, 2000, 3});
}

TEST_F(DamagedFiles, MapsAndOldPartConfigsAreRefusedOrReadable) {
  CopyUnpacked(SourceFixtureRoot() + "/legacy091_noreshuffle_2p", folder_.path());
  DamageFile("sbm.json", "node_map.npy", {9, 300, 151});
  DamageFile("sbm.json", "edge_map.npy", {10, 300, 997});
  DamageFile("sbm.json", "sbm.json", {11, 500, 7});
}

TEST_F(DamagedFiles, GraphsWithBareRelationNamesAreRefusedOrReadable) {
  CopyUnpacked(SourceFixtureRoot() + "/legacy091_hetero_2p", folder_.path());
  DamageFile("hetero.json", "part0/graph.dgl", {12, 600, 499, kRubbishBegin, kRubbishEnd});
}

}  // namespace
}  // namespace graphd::test
