// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "format/load.h"
#include "tests/unit/format/expected.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::test {
namespace {

std::string Name(const std::string& path) { return std::filesystem::path(path).filename(); }

TEST(dgl_fixtures, EveryFixtureReadsAsDglReadsIt) {
  const std::vector<std::string> fixtures = FindFixtures(FixtureRoot());
  ASSERT_FALSE(fixtures.empty()) << FixtureRoot() << " contains no folder with an expected.json";
  Comparison all;
  for (const std::string& fixture : fixtures) {
    SCOPED_TRACE(fixture);
    const TempFolder folder;
    CopyUnpacked(fixture, folder.path());
    Comparison result;
    ASSERT_NO_THROW(result = CompareWithDgl(folder.path()));
    for (const std::string& mismatch : result.mismatches) ADD_FAILURE() << mismatch;
    std::printf("%-26s %2lu partitions, %5lu answers, %6lu in-edges, %3lu features: %s\n",
                Name(fixture).c_str(), result.partitions, result.answers, result.edges,
                result.features, result.mismatches.empty() ? "same" : "DIFFERENT");
    EXPECT_GT(result.answers, 0u);
    all.answers += result.answers;
    all.edges += result.edges;
    all.features += result.features;
    all.partitions += result.partitions;
  }
  EXPECT_GT(all.edges, 0u);
  EXPECT_GT(all.features, 0u);
  std::printf("%zu fixtures, %lu partitions, %lu answers, %lu in-edges, %lu features\n",
              fixtures.size(), all.partitions, all.answers, all.edges, all.features);
}

// Shows that the comparison above can fail: a single wrong bit in a value causes an Error or
// a mismatch.
class DamagedFixture : public testing::Test {
 protected:
  DamagedFixture() { CopyUnpacked(SourceFixtureRoot() + "/hetero_2p", folder_.path()); }

  bool Noticed() {
    try {
      return !CompareWithDgl(folder_.path()).mismatches.empty();
    } catch (const Error&) {
      return true;
    }
  }

  void Flip(const std::string& name, size_t offset, char bit) {
    std::string bytes = ReadAll(folder_ / name);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ bit);
    WriteAll(folder_ / name, bytes);
  }

  void Replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = ReadAll(folder_ / name);
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    WriteAll(folder_ / name, text.replace(at, from.size(), to));
  }

  TempFolder folder_;
};

using dgl_fixtures_damaged = DamagedFixture;

TEST_F(dgl_fixtures_damaged, WithoutDamageNothingIsNoticed) { EXPECT_FALSE(Noticed()); }

TEST_F(dgl_fixtures_damaged, AFlippedBitInTheLastFeatureByteIsNoticed) {
  Flip("part0/node_feat.dgl", ReadAll(folder_ / "part0/node_feat.dgl").size() - 1, 1);
  EXPECT_TRUE(Noticed());
}

TEST_F(dgl_fixtures_damaged, AFlippedBitInASourceIsNoticed) {
  // The sources of a coordinate matrix begin at 0x1222 in each file that DGL writes.
  Flip("part1/graph.dgl", 0x1222, 1);
  EXPECT_TRUE(Noticed());
}

TEST_F(dgl_fixtures_damaged, AMovedBoundaryOfThePartitionBookIsNoticed) {
  Replace("hetero.json", "127", "128");
  EXPECT_TRUE(Noticed());
}

TEST_F(dgl_fixtures_damaged, SwappedTypesAreNoticed) {
  Replace("hetero.json", "\"user:follows:user\": 1", "\"user:follows:user\": 3");
  EXPECT_TRUE(Noticed());
}

TEST_F(dgl_fixtures_damaged, AWrongExpectationIsNoticed) {
  Replace("expected.json", "\"edge_ids\":[", "\"edge_ids\":[1,");
  EXPECT_TRUE(Noticed());
}

TEST(dgl_fixtures, AFolderWithoutFixturesIsNotTakenForSuccess) {
  const TempFolder empty;
  EXPECT_TRUE(FindFixtures(empty.path()).empty());
}

}  // namespace
}  // namespace graphd::test
