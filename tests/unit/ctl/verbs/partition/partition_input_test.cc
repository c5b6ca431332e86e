// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition/partition_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PartitionInputTest : public ::testing::Test {
 protected:
  PartitionInputTest() {
    WriteFileAtomically(edges_, "0,1\n1,2\n2,0\n");
    WriteFileAtomically(metadata_, "{\"node_type\": []}");
  }
  // Reads the graph that the options of `graphctl partition` name.
  RawGraph Read(const std::vector<std::string>& words) {
    CLI::App verb("", "partition");
    PartitionInput input;
    input.AddOptions(verb);
    verb.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return input.Read(scratch_ / "out", {});
  }
  std::string Says(const std::vector<std::string>& words) {
    return ErrorOf([&] { Read(words); });
  }
  ScratchDirectory scratch_;
  const std::string edges_ = scratch_ / "edges.csv", metadata_ = scratch_ / "metadata.json";
};

TEST_F(PartitionInputTest, AFileOfEdgesIsAGraph) {
  EXPECT_EQ(Read({"--input", edges_}).edges.size(), 1U);
  const RawGraph both = Read({"--edges=a:to:b=" + edges_, "--add-reverse"});
  ASSERT_EQ(both.edges.size(), 2U);
}

TEST_F(PartitionInputTest, AnInputThatIsNotThereIsNamed) {
  EXPECT_THAT(Says({}), StartsWith("invalid: no graph is given"));
  EXPECT_THAT(Says({"--input", scratch_ / "none"}),
              AllOf(StartsWith("not_found: --input "), HasSubstr("/none does not exist")));
}

TEST_F(PartitionInputTest, AWordThatIsNoChoiceIsToldWithTheChoices) {
  EXPECT_THAT(Says({"--input", edges_, "--input_format", "csv"}),
              StartsWith("invalid: --input_format 'csv', expected auto, ogb, edges, parquet"));
  EXPECT_THAT(Says({"--input", edges_, "--separator", "|"}),
              StartsWith("invalid: --separator '|', expected auto, comma"));
  EXPECT_THAT(Says({"--input", edges_, "--header", "maybe"}),
              StartsWith("invalid: --header 'maybe', expected auto, yes, no"));
}

TEST_F(PartitionInputTest, OptionsWithoutAnEffectAreRefused) {
  EXPECT_THAT(Says({"--input", edges_, "--split", "time"}),
              StartsWith("invalid: --split time: only an input in OGB's layout"));
  EXPECT_THAT(Says({"--input", edges_, "--edges", "a:to:b=" + edges_}),
              HasSubstr("can't be combined"));
  EXPECT_THAT(Says({"--input", metadata_, "--nodes", "a=" + edges_}),
              HasSubstr("--edges and --nodes can't be combined with it"));
  const std::vector<std::vector<std::string>> options{
      {"--num_nodes", "3"}, {"--src_col", "a"},       {"--dst_col", "b"}, {"--feat_cols", "c"},
      {"--header", "no"},   {"--separator", "comma"}, {"--map_ids"}};
  for (const std::vector<std::string>& option : options) {
    std::vector<std::string> words{"--input", metadata_};
    words.insert(words.end(), option.begin(), option.end());
    EXPECT_THAT(Says(words), StartsWith("invalid: " + option[0] + " applies only to files"));
  }
}

TEST_F(PartitionInputTest, AJsonFileOfAnotherKindIsAnError) {
  WriteFileAtomically(metadata_, "{\"nodes\": []}");
  EXPECT_THAT(Says({"--input", metadata_}),
              AllOf(StartsWith("corrupt: "), HasSubstr("neither a part config")));
  for (const char* text : {"", "{\"num_parts\": ", "[]", "7"}) {
    WriteFileAtomically(metadata_, text);
    EXPECT_THAT(Says({"--input", metadata_}), StartsWith("corrupt: ")) << text;
  }
}

}  // namespace
}  // namespace graphd::ctl
