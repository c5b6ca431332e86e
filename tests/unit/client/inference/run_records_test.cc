// SPDX-License-Identifier: Apache-2.0
#include "client/inference/run_records.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/client/expect_error.h"

namespace graphd::testing {
namespace {

const InferenceRun::Arguments kArguments{
    {"batch_size", "1000"}, {"features", "0=f\u00e9at"}, {"version", "a \"b\"\n"}};

Tensor MarksOf(const std::vector<int64_t>& numbers) {
  Tensor marks = Tensor::Empty(DType::kInt64, {static_cast<int64_t>(numbers.size() / 2), 2});
  std::ranges::copy(numbers, marks.as<int64_t>().begin());
  return marks;
}

TEST(RunRecords, ArgumentsAreReadAsTheyWereKept) {
  for (const auto& arguments : {kArguments, InferenceRun::Arguments{}}) {
    EXPECT_EQ(ArgumentsFromText(ArgumentsToText(arguments, "run")), arguments);
  }
  ExpectError(
      [] {
        ArgumentsToText({{"version", "\xff"}}, "mine");
      },
      ErrorCode::kInvalid, "layer-wise inference 'mine': a name or the version is not valid UTF-8");
}

TEST(RunRecords, APartOfTheArgumentsIsNone) {
  const std::string text = ArgumentsToText(kArguments, "run");
  for (size_t size = 0; size < text.size(); size++) {
    EXPECT_FALSE(ArgumentsFromText(text.substr(0, size))) << size;
  }
  std::string invalidated = text;
  invalidated[0] = '\0';
  EXPECT_FALSE(ArgumentsFromText(invalidated));
}

TEST(RunRecords, OtherTextsAreNoArguments) {
  for (const char* text : {"[]", "7", "null", "\"batch_size\"", "[[\"a\", \"b\"]]", "{\"a\": 1}",
                           "{\"a\": null}", "{\"a\": \"\xff\"}", "{\"a\": \"b\"} more"}) {
    EXPECT_FALSE(ArgumentsFromText(text)) << text;
  }
  EXPECT_FALSE(ArgumentsFromText(std::string(100000, '[')));
}

TEST(RunRecords, MarksAreThoseOfAllTrainers) {
  const auto places = ReadMarks(MarksOf({1, 7, 0, 0}), 2, 2);
  ASSERT_TRUE(places);
  ASSERT_EQ(places->size(), 2U);
  EXPECT_EQ((*places)[0].layer, 1);
  EXPECT_EQ((*places)[0].batches, 7);
  EXPECT_EQ((*places)[1].layer, 0);
  EXPECT_FALSE(ReadMarks(MarksOf({1, 7, 0, 0}), 1, 2));
  EXPECT_FALSE(ReadMarks(MarksOf({1, 7, 0, 0}), 3, 2));
}

TEST(RunRecords, MarksThatNoTrainerMakesAreNone) {
  EXPECT_TRUE(ReadMarks(MarksOf({2, 0}), 1, 3));
  for (const auto& numbers : {std::vector<int64_t>{3, 0}, {-1, 0}, {0, -1}, {INT64_MIN, 0}}) {
    EXPECT_FALSE(ReadMarks(MarksOf(numbers), 1, 3)) << numbers[0] << " " << numbers[1];
  }
  EXPECT_FALSE(ReadMarks(Tensor::Empty(DType::kInt64, {2}), 2, 1));
  EXPECT_FALSE(ReadMarks(Tensor::Empty(DType::kInt64, {1, 1}), 1, 1));
  EXPECT_FALSE(ReadMarks(Tensor::Empty(DType::kFloat64, {1, 2}), 1, 1));
}

}  // namespace
}  // namespace graphd::testing
