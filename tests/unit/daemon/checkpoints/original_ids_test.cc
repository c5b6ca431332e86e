// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/original_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "format/load.h"
#include "tests/unit/format/one_partition.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

constexpr int64_t kNodes = 300'000;  // more than are written at once

class OriginalIdsFile : public ::testing::Test {
 protected:
  OriginalIdsFile() {
    partition_ =
        LoadPartition(WriteOnePartition(HomogeneousGraph(kNodes, {{0, 1}}), scratch_.path()), 0);
    TensorShare share{};
    share.part = 0;
    share.info.spec.policy = TensorPolicy::kNode;
    WriteOriginalIds(ServedGraph({partition_}), scratch_.path(), {share});
  }
  std::vector<int64_t> Read(int64_t begin, int64_t count) const {
    std::vector<int64_t> ids(static_cast<size_t>(count));
    ReadOriginalIds(path_, begin, std::as_writable_bytes(std::span(ids)));
    return ids;
  }

  const ScratchDirectory scratch_;
  std::shared_ptr<const Partition> partition_;
  const std::string path_ = OriginalIdsPath(scratch_.path(), 0, false, 0);
};

TEST_F(OriginalIdsFile, HasTheIdsOfAllRows) {
  std::vector<int64_t> wanted(kNodes);
  partition_->node_feature(0, "orig_id")
      .Read(0, kNodes, std::as_writable_bytes(std::span(wanted)).data());
  EXPECT_EQ(CountOriginalIds(path_), kNodes);
  EXPECT_EQ(Read(0, kNodes), wanted);
  EXPECT_TRUE(std::ranges::equal(Read(131'070, 5), std::span(wanted).subspan(131'070, 5)));
  EXPECT_FALSE(FileExists(path_ + ".tmp"));
}

TEST_F(OriginalIdsFile, OfAWrongSizeIsRefused) {
  for (const int64_t size : {int64_t{0}, int64_t{7}, 8 * kNodes + 1}) {
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(size));
    try {
      CountOriginalIds(path_);
      FAIL() << "no error for " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("has a wrong size"));
    }
  }
  std::filesystem::resize_file(path_, 8 * 10);
  EXPECT_EQ(CountOriginalIds(path_), 9);
  EXPECT_THROW(Read(9, 2), Error);
}

}  // namespace
}  // namespace graphd::testing
