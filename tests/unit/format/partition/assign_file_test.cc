// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/partition/assign_nodes.h"
#include "tests/unit/format/npy_bytes.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HomogeneousGraph;
using testing::NpyBytes;
using testing::ScratchDirectory;
using testing::TypedGraph;
using testing::WriteGzip;
using testing::WriteText;

class AssignFile : public ::testing::Test {
 protected:
  NodeOwners Assign(const RawGraph& graph, std::vector<std::string> assignment, int32_t parts = 3) {
    AssignOptions options;
    options.method = PartMethod::kFile;
    options.num_parts = parts;
    options.assignment = std::move(assignment);
    return AssignNodes(graph, options).owners;
  }
  void ExpectError(const RawGraph& graph, std::vector<std::string> assignment, ErrorCode code,
                   const std::vector<std::string>& texts) {
    try {
      Assign(graph, std::move(assignment));
      ADD_FAILURE() << texts[0] << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      for (const std::string& text : texts) EXPECT_THAT(error.what(), HasSubstr(text));
    }
  }

  ScratchDirectory directory_;
  const RawGraph three_ = HomogeneousGraph(3, {{0, 1}});
};

TEST_F(AssignFile, TextCompressedTextAndNpyAreRead) {
  WriteText(directory_ / "a.txt", "2\n0\n1\n");
  WriteGzip(directory_ / "a.txt.gz", "1\n1\n0\n");
  WriteText(directory_ / "bytes.npy", NpyBytes<uint8_t>("|u1", {3}, {2, 2, 0}));
  WriteText(directory_ / "ints.npy", NpyBytes<int32_t>("<i4", {3}, {1, 0, 2}));
  EXPECT_THAT(Assign(three_, {directory_ / "a.txt"}), ElementsAre(ElementsAre(2, 0, 1)));
  EXPECT_THAT(Assign(three_, {directory_ / "a.txt.gz"}), ElementsAre(ElementsAre(1, 1, 0)));
  EXPECT_THAT(Assign(three_, {directory_ / "bytes.npy"}), ElementsAre(ElementsAre(2, 2, 0)));
  EXPECT_THAT(Assign(three_, {directory_ / "ints.npy"}), ElementsAre(ElementsAre(1, 0, 2)));
}

TEST_F(AssignFile, TypesHaveOneFileEachOrDglsDirectory) {
  const RawGraph graph = TypedGraph(2, 3, 1);
  WriteText(directory_ / "author.txt", "1\n0\n");
  WriteText(directory_ / "paper.txt", "2\n1\n0\n");
  const auto expected = ElementsAre(ElementsAre(1, 0), ElementsAre(2, 1, 0));
  EXPECT_THAT(Assign(graph, {directory_.path()}), expected);
  EXPECT_THAT(Assign(graph, {"paper=" + (directory_ / "paper.txt"),
                             "author=" + (directory_ / "author.txt")}),
              expected);
  WriteText(directory_ / "partition_meta.json",
            R"({"version": "1.0.0", "num_parts": 3, "algo_name": "random"})");
  EXPECT_THAT(Assign(graph, {directory_.path()}), expected);
  WriteText(directory_ / "partition_meta.json", R"({"num_parts": 4})");
  ExpectError(graph, {directory_.path()}, ErrorCode::kInvalid, {"4 partitions", "--num_parts 4"});
  WriteText(directory_ / "partition_meta.json", "[");
  ExpectError(graph, {directory_.path()}, ErrorCode::kCorrupt, {"partition_meta.json"});
}

TEST_F(AssignFile, InvalidPartitionsAreErrorsWithLineAndValue) {
  const auto expect = [&](const std::string& text, const std::vector<std::string>& texts) {
    WriteText(directory_ / "bad.txt", text);
    ExpectError(three_, {directory_ / "bad.txt"}, ErrorCode::kCorrupt, texts);
  };
  expect("0\n3\n1\n", {"bad.txt:2:", "partition 3", "0..2"});
  expect("0\n1\n-1\n", {"bad.txt:3:", "-1", "0..2"});
  expect("0\nx\n1\n", {"bad.txt:2:", "x"});
  expect("0\n1 2\n1\n", {"bad.txt:2:"});
  expect("0\n1\n", {"2 numbers", "3 nodes"});
  expect("", {"0 numbers", "3 nodes"});
  expect("0\n1\n2\n0\n", {"bad.txt:4:", "3 nodes"});
  expect("99999999999999999999\n1\n2\n", {"bad.txt:1:"});
}

TEST_F(AssignFile, InvalidPartitionsInAnNpyAreErrorsWithTheElement) {
  const auto expect = [&](const std::string& bytes, const std::vector<std::string>& texts) {
    WriteText(directory_ / "bad.npy", bytes);
    ExpectError(three_, {directory_ / "bad.npy"}, ErrorCode::kCorrupt, texts);
  };
  expect(NpyBytes<int8_t>("|i1", {3}, {0, -1, 0}), {"element 1", "-1", "0..2"});
  expect(NpyBytes<uint8_t>("|u1", {3}, {0, 1, 3}), {"element 2", "partition 3"});
  expect(NpyBytes<uint64_t>("<u8", {3}, {0, UINT64_MAX, 0}), {"element 1", "18446744073709551615"});
  expect(NpyBytes<uint8_t>("|u1", {2}, {0, 0}), {"2 elements", "3 nodes"});
  expect(NpyBytes<float>("<f4", {3}, {0, 0, 0}), {"float32", "integers"});
  expect("not an npy file", {"bad.npy"});
}

TEST_F(AssignFile, EveryTypeNeedsOneFile) {
  const RawGraph graph = TypedGraph(2, 3, 1);
  WriteText(directory_ / "author.txt", "1\n0\n");
  const std::string author = directory_ / "author.txt";
  ExpectError(graph, {"author=" + author}, ErrorCode::kInvalid, {"'paper'", "paper=PATH"});
  ExpectError(graph, {directory_.path()}, ErrorCode::kNotFound, {"paper.txt"});
  ExpectError(graph, {author}, ErrorCode::kInvalid, {"2 node types", "TYPE="});
  ExpectError(graph, {"author=" + author, "author=" + author}, ErrorCode::kInvalid, {"two files"});
  ExpectError(graph, {"editor=" + author}, ErrorCode::kNotFound, {"editor", "author"});
  ExpectError(three_, {directory_ / "none.txt"}, ErrorCode::kNotFound, {"none.txt"});
}

TEST_F(AssignFile, OnePartitionIsCheckedToo) {
  WriteText(directory_ / "a.txt", "0\n1\n0\n");
  EXPECT_THROW(Assign(three_, {directory_ / "a.txt"}, 1), Error);
}

}  // namespace
}  // namespace graphd
