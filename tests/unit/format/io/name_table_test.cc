// SPDX-License-Identifier: Apache-2.0
#include "format/io/name_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "format/io/line_reader.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using testing::ScratchDirectory;

TEST(NameTable, NumbersNamesInOrderOfFirstAppearance) {
  NameTable names;
  EXPECT_EQ(names.Find("b"), std::nullopt);
  EXPECT_EQ(names.Add("b"), 0u);
  EXPECT_EQ(names.Add("a"), 1u);
  EXPECT_EQ(names.Add("b"), 0u);
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(names.Find("a"), 1u);
  EXPECT_EQ(names.name(1), "a");
}

TEST(NameTable, ManyNamesKeepTheirIds) {
  NameTable names;
  constexpr uint64_t kCount = 100'000;
  for (uint64_t i = 0; i < kCount; i++) ASSERT_EQ(names.Add("n" + std::to_string(i * 7919)), i);
  for (uint64_t i = 0; i < kCount; i++) {
    ASSERT_EQ(names.Find("n" + std::to_string(i * 7919)), i);
    ASSERT_EQ(names.name(i), "n" + std::to_string(i * 7919));
  }
  EXPECT_EQ(names.Find("n1"), std::nullopt);
  EXPECT_EQ(names.size(), kCount);
}

TEST(NameTable, IsWrittenWithOneNamePerLine) {
  ScratchDirectory directory;
  NameTable names;
  for (int i = 0; i < 20'000; i++) names.Add("node " + std::to_string(i));
  WriteNames(directory / "names.gz", names);
  LineReader lines(directory / "names.gz");
  for (int i = 0; i < 20'000; i++) {
    ASSERT_TRUE(lines.Next());
    ASSERT_EQ(lines.text(), "node " + std::to_string(i));
  }
  EXPECT_FALSE(lines.Next());
  WriteNames(directory / "none.gz", NameTable());
  EXPECT_FALSE(LineReader(directory / "none.gz").Next());
  const auto files = std::filesystem::directory_iterator(directory.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

}  // namespace
}  // namespace graphd
