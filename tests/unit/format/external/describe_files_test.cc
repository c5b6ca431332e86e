// SPDX-License-Identifier: Apache-2.0
#include "format/external/describe_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using testing::ScratchDirectory;

class DescribeFilesTest : public ::testing::Test {
 protected:
  void Make(const std::string& name) const {
    MakeDirectories(DirName(directory_ / name));
    WriteFileAtomically(directory_ / name, "1");
  }
  // Returns the names that a description has, relative to the directory.
  std::vector<std::string> NamesOf(const std::string& path,
                                   const WrittenFiles& written = {}) const {
    std::vector<std::string> names;
    for (const auto& file : DescribeFiles(directory_ / path, written)) {
      names.push_back(fs::relative(file[0].get<std::string>(), directory_.path()).string());
    }
    return names;
  }
  const ScratchDirectory directory_;
};

TEST_F(DescribeFilesTest, NotesChangesOfSizeAndTime) {
  EXPECT_EQ(DescribeFiles(directory_ / "none"), ordered_json::array());
  Make("a");
  const ordered_json before = DescribeFiles(directory_.path());
  EXPECT_EQ(before.size(), 1u);
  EXPECT_EQ(DescribeFiles(directory_.path()), before);
  WriteFileAtomically(directory_ / "a", "12");
  EXPECT_NE(DescribeFiles(directory_.path()), before);
}

TEST_F(DescribeFilesTest, MatchesPatternsAndWhatIsBelowTheirDirectories) {
  Make("d/a.parquet");
  Make("d/b.csv");
  Make("d/year=2023/c.parquet");
  EXPECT_THAT(NamesOf("d/a*.parquet"), ElementsAre("d/a.parquet"));
  EXPECT_THAT(NamesOf("d/year=202[0-9]"), ElementsAre("d/year=2023/c.parquet"));
  EXPECT_THAT(NamesOf("**/c.parquet"), ElementsAre("d/year=2023/c.parquet"));
  EXPECT_THAT(NamesOf("d/**/a.parquet"), ElementsAre("d/a.parquet"));
  EXPECT_THAT(NamesOf("e/*.parquet"), ElementsAre());
  const fs::path before = fs::current_path();
  fs::current_path(directory_ / "d");
  EXPECT_EQ(DescribeFiles("*.csv").size(), 1u);
  fs::current_path(before);
}

TEST_F(DescribeFilesTest, FollowsLinksOnce) {
  Make("far/a");
  Make("d/b");
  fs::create_directory_symlink(directory_ / "far", directory_ / "d/link");
  fs::create_directory_symlink(directory_ / "d", directory_ / "d/loop");
  fs::create_symlink(directory_ / "nowhere", directory_ / "d/dangling");
  EXPECT_EQ(DescribeFiles(directory_ / "d").size(), 2u);
}

TEST_F(DescribeFilesTest, LeavesOutWhatTheRunWrites) {
  Make("d/edges.csv");
  Make("d/out/old");
  Make("d/out/part0/graph.seg.tmp");
  EXPECT_THAT(NamesOf("d", {directory_ / "d/out", "g"}), ElementsAre("d/edges.csv"));
  Make("d/g.partitioning/data0");
  Make("d/g.json.tmp1");
  Make("d/g._N.ids.txt.gz");
  Make("d/part12/graph.seg.tmp");
  Make("d/parts.csv");
  EXPECT_THAT(NamesOf("d", {directory_ / "d", "g"}),
              ElementsAre("d/edges.csv", "d/out/old", "d/out/part0/graph.seg.tmp", "d/parts.csv"));
}

TEST_F(DescribeFilesTest, RefusesNamesThatAreNotUtf8) {
  Make("d/\xff");
  try {
    DescribeFiles(directory_ / "d");
    FAIL() << "a name that is not UTF-8 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("rename it"));
  }
}

}  // namespace
}  // namespace graphd
