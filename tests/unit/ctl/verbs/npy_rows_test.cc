// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/npy_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/directory.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ScratchDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(NpyRows, AFileGetsItsNameWhenItIsComplete) {
  const ScratchDirectory scratch;
  {
    NpyRows rows(scratch / "t.npy", DType::kUInt8, {3, 2});
    rows.Write(0, std::vector<int64_t>{2, 0}, Bytes("eeaa"));
    rows.Write(1, {}, Bytes("cc"));
    EXPECT_THAT(ListDirectory(scratch.path()), ElementsAre("t.npy.part"));
    rows.Finish();
  }
  EXPECT_THAT(ListDirectory(scratch.path()), ElementsAre("t.npy"));
  EXPECT_TRUE(ReadTextFile(scratch / "t.npy").ends_with("aaccee"));
  NpyRows(scratch / "other.npy", DType::kUInt8, {3, 2}).Write(0, {}, Bytes("aa"));
  EXPECT_THAT(ListDirectory(scratch.path()), ElementsAre("t.npy"));
}

TEST(NpyRows, IdsThatAreNotOnePerRowOrOutsideAreErrors) {
  const ScratchDirectory scratch;
  NpyRows rows(scratch / "t.npy", DType::kUInt8, {3, 2});
  EXPECT_THROW(rows.Write(0, std::vector<int64_t>{0, 1, 2}, Bytes("aabb")), Error);
  EXPECT_THROW(rows.Write(0, std::vector<int64_t>{3}, Bytes("aa")), Error);
  EXPECT_THROW(rows.Write(0, std::vector<int64_t>{-1}, Bytes("aa")), Error);
}

TEST(FileStems, AreDistinctNamesOfFiles) {
  EXPECT_THAT(FileStemsOf({"a/b", "..", "plain"}), ElementsAre("a_b", "_..", "plain"));
  try {
    FileStemsOf({"a/b", "c", "a_b"});
    FAIL() << "two tensors have one file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kExists);
    EXPECT_THAT(error.what(), HasSubstr("'a/b' and 'a_b'"));
  }
  EXPECT_NO_THROW(FileStemsOf({std::string(239, 'x')}));
  EXPECT_THROW(FileStemsOf({std::string(240, 'x')}), Error);
}

}  // namespace
}  // namespace graphd::ctl
