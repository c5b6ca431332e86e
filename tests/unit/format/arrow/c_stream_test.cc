// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/c_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "arrow_source.h"
#include "tests/unit/format/raw_graph_checks.h"

namespace graphd {
namespace {

using testing::ArrowSpec;
using testing::BytesOf;
using testing::Failure;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::Rows;
using testing::StreamOf;
using testing::Texts;

constexpr auto kAbsent = std::nullopt;

class CStreamTest : public ::testing::Test {
 protected:
  ~CStreamTest() override { EXPECT_EQ(testing::live_arrow_structs, 0) << "structs are leaked"; }

  static std::unique_ptr<ArrowStream> Open(std::vector<ArrowSpec> batches) {
    ArrowArrayStream stream = StreamOf(std::move(batches));
    return OpenArrowStream(stream, "table");
  }
  // Expects that a table of this column alone is refused as damaged, and returns the message.
  static std::string Complaint(ArrowSpec column) {
    auto [code, message] = Failure([&] {
      ArrowSpec rows = Rows({std::move(column)});
      rows.length = std::max<int64_t>(rows.length, 1);
      ArrowBatch batch;
      Open({rows})->Next(batch);
    });
    EXPECT_EQ(code, ErrorCode::kCorrupt) << message;
    EXPECT_THAT(message, HasSubstr("'x'"));
    return message;
  }
};

TEST_F(CStreamTest, BatchesAreReadInPlaceAndReleased) {
  ArrowArrayStream stream = StreamOf(
      {Rows({Numbers<int32_t>("i", "x", {1, 2})}), Rows({Numbers<int32_t>("i", "x", {3})})});
  const auto opened = OpenArrowStream(stream, "table");
  EXPECT_EQ(stream.release, nullptr);
  ASSERT_EQ(opened->fields().size(), 1u);
  EXPECT_EQ(opened->fields()[0].name, "x");
  EXPECT_EQ(opened->fields()[0].type.dtype, DType::kInt32);
  ArrowBatch first, second, none;
  ASSERT_TRUE(opened->Next(first));
  ASSERT_TRUE(opened->Next(second));
  EXPECT_FALSE(opened->Next(none));
  EXPECT_EQ(first.rows, 2);
  EXPECT_EQ(first.columns[0].Load<int32_t>(1, 1), 2);
  EXPECT_EQ(second.columns[0].Load<int32_t>(1, 0), 3);
}

TEST_F(CStreamTest, SlicedRowsAndColumnsAddTheirOffsets) {
  ArrowSpec column = Numbers<int64_t>("l", "x", {0, 1, 2, 3, 4});
  column.offset = 1;
  column.length = 4;
  column.buffers[0] = std::string("\x1b");  // row 2 of the buffers is null
  ArrowSpec rows = Rows({column});
  rows.offset = 1;
  rows.length = 2;
  ArrowBatch batch;
  const auto stream = Open({rows});
  ASSERT_TRUE(stream->Next(batch));
  EXPECT_EQ(batch.rows, 2);
  EXPECT_TRUE(batch.columns[0].IsNull(0));
  EXPECT_FALSE(batch.columns[0].IsNull(1));
  EXPECT_EQ(batch.columns[0].Load<int64_t>(1, 1), 3);
}

TEST_F(CStreamTest, TextsAreReadInEachLayout) {
  ArrowSpec large{"U", "large", 2, {kAbsent, BytesOf<int64_t>({0, 1, 3}), "abc"}};
  const std::string long_text = "thirteen byte";
  const std::string views = BytesOf<int32_t>({2}) + "hi" + std::string(10, '\0') +
                            BytesOf<int32_t>({13}) + "thir" + BytesOf<int32_t>({0, 1});
  ArrowSpec view{"vu", "view", 2, {kAbsent, views, "." + long_text, BytesOf<int64_t>({14})}};
  ArrowBatch batch;
  const auto stream = Open({Rows({Texts("small", {"", "x"}), large, view})});
  ASSERT_TRUE(stream->Next(batch));
  EXPECT_EQ(batch.columns[0].Text(0), "");
  EXPECT_EQ(batch.columns[0].Text(1), "x");
  EXPECT_EQ(batch.columns[1].Text(1), "bc");
  EXPECT_EQ(batch.columns[2].Text(0), "hi");
  EXPECT_EQ(batch.columns[2].Text(1), long_text);
}

TEST_F(CStreamTest, WhatIsNotATableIsRefused) {
  const auto [code, message] = Failure([] { Open({Numbers<int32_t>("i", "x", {1})}); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("'i', which is not a table"));
  ArrowArrayStream read{};
  EXPECT_EQ(Failure([&] { OpenArrowStream(read, "table"); }).first, ErrorCode::kInvalid);
}

TEST_F(CStreamTest, TheProducersErrorIsShown) {
  ArrowArrayStream stream = StreamOf({Rows({Numbers<int32_t>("i", "x", {1})})}, "the disk is gone");
  const auto opened = OpenArrowStream(stream, "table");
  ArrowBatch batch;
  ASSERT_TRUE(opened->Next(batch));
  const auto [code, message] = Failure([&] { opened->Next(batch); });
  EXPECT_EQ(code, ErrorCode::kIo);
  EXPECT_THAT(message, HasSubstr("the disk is gone"));
}

TEST_F(CStreamTest, WrongCountsAreRefused) {
  ArrowSpec x = Numbers<int32_t>("i", "x", {1, 2});
  x.length = -1;
  Complaint(x);
  x.length = 2;
  x.offset = -1;
  Complaint(x);
  x.offset = 0;
  x.null_count = 3;
  EXPECT_THAT(Complaint(x), HasSubstr("3 nulls in 2 rows"));
  x.null_count = 1;
  EXPECT_THAT(Complaint(x), HasSubstr("no buffer that says which"));
  x.null_count = 0;
  x.buffers.pop_back();
  EXPECT_THAT(Complaint(x), HasSubstr("1 buffers, expected 2 for int32"));
  x.buffers.push_back(kAbsent);
  EXPECT_THAT(Complaint(x), HasSubstr("buffer 1 is null"));

  ArrowSpec rows = Rows({Numbers<int32_t>("i", "x", {1, 2})});
  rows.length = 3;
  ArrowBatch batch;
  EXPECT_THAT(Failure([&] { Open({rows})->Next(batch); }).second,
              HasSubstr("'x' has 2 rows, expected 3"));
  ArrowSpec more = Rows({Numbers<int32_t>("i", "x", {1}), Numbers<int32_t>("i", "y", {1})});
  const auto stream = Open({Rows({Numbers<int32_t>("i", "x", {1})}), more});
  ASSERT_TRUE(stream->Next(batch));
  EXPECT_THAT(Failure([&] { stream->Next(batch); }).second, HasSubstr("2 columns; expected 1"));
  ArrowSpec nulls = Rows({Numbers<int32_t>("i", "x", {1})});
  nulls.null_count = 1;
  EXPECT_THAT(Failure([&] { Open({nulls})->Next(batch); }).second, HasSubstr("1 rows are null"));
}

TEST_F(CStreamTest, WrongTextsAreRefused) {
  ArrowSpec text = Texts("x", {"a", "bc"});
  text.buffers[1] = BytesOf<int32_t>({0, 3, 1});
  EXPECT_THAT(Complaint(text), HasSubstr("row 1 end at 1, before 3"));
  text.buffers[1] = BytesOf<int32_t>({-4, 1, 3});
  EXPECT_THAT(Complaint(text), HasSubstr("offset -4"));
  text.buffers[1] = kAbsent;
  EXPECT_THAT(Complaint(text), HasSubstr("buffer 1 is null"));
  text = Texts("x", {"a", "bc"});
  text.buffers[2] = kAbsent;
  EXPECT_THAT(Complaint(text), HasSubstr("buffer 2 is null"));

  const auto view = [](int32_t size, int32_t buffer, int32_t begin) {
    const std::string bytes = BytesOf<int32_t>({size, 0, buffer, begin});
    return ArrowSpec{"vu", "x", 1, {kAbsent, bytes, std::string(20, 'a'), BytesOf<int64_t>({20})}};
  };
  EXPECT_THAT(Complaint(view(13, 1, 0)), HasSubstr("buffer 1 of 1"));
  EXPECT_THAT(Complaint(view(13, 0, 8)), HasSubstr("ends at 21, but its buffer has 20"));
  EXPECT_THAT(Complaint(view(13, 0, -1)), HasSubstr("ends at 12"));
  EXPECT_THAT(Complaint(view(-1, 0, 0)), HasSubstr("a text of -1 bytes"));
  ArrowSpec sizes = view(13, 0, 0);
  sizes.buffers[3] = BytesOf<int64_t>({-20});
  EXPECT_THAT(Complaint(sizes), HasSubstr("a buffer of -20 bytes"));
  sizes.buffers[3] = kAbsent;
  EXPECT_THAT(Complaint(sizes), HasSubstr("no sizes"));
}

TEST_F(CStreamTest, WrongListsAreRefused) {
  ArrowSpec list{"+l",
                 "x",
                 2,
                 {kAbsent, BytesOf<int32_t>({0, 1, 4})},
                 {Numbers<float>("f", "item", {1, 2, 3})}};
  EXPECT_THAT(Complaint(list), HasSubstr("end at 4, but there are 3"));
  list.children.clear();
  EXPECT_THAT(Complaint(list), HasSubstr("0 types of items"));
  ArrowSpec fixed{"+w:2", "x", 2, {kAbsent}, {Numbers<float>("f", "item", {1, 2, 3})}};
  EXPECT_THAT(Complaint(fixed), HasSubstr("2 lists of 2 items, but there are 3"));
  fixed.format = "+w:9223372036854775807";
  EXPECT_THAT(Complaint(fixed), HasSubstr("but there are 3 items"));
  EXPECT_EQ(Failure([&] {
              fixed.format = "+w:-2";
              Open({Rows({fixed})});
            }).first,
            ErrorCode::kCorrupt);
  ArrowSpec deep = Numbers<float>("f", "x", {1});
  for (int i = 0; i < 100; i++) {
    deep = {"+l", "x", 1, {kAbsent, BytesOf<int32_t>({0, 1})}, {deep}};
  }
  EXPECT_THAT(Failure([&] { Open({Rows({deep})}); }).second, HasSubstr("nested too deep"));
}

TEST_F(CStreamTest, WrongDictionariesAreRefused) {
  ArrowSpec column = Numbers<int8_t>("c", "x", {0, 2});
  column.dictionary = std::make_shared<ArrowSpec>(Texts("", {"a", "b"}));
  EXPECT_THAT(Complaint(column), HasSubstr("row 1 has the index 2 into a dictionary of 2"));
  column.buffers[1] = BytesOf<int8_t>({0, -1});
  EXPECT_THAT(Complaint(column), HasSubstr("index -1"));
  column.buffers[0] = std::string("\x01");  // the second row is null: its index means nothing
  ArrowBatch batch;
  EXPECT_TRUE(Open({Rows({column})})->Next(batch));
}

TEST_F(CStreamTest, IndicesOfDictionariesAreWholeNumbers) {
  const auto words = std::make_shared<ArrowSpec>(Texts("", {"a", "b"}));
  ArrowSpec other{"+ud:1,2", "union", 1, {}};
  ArrowSpec floats = Numbers<float>("f", "x", {0, 1});
  ArrowSpec nested = Numbers<int8_t>("c", "x", {0, 1});
  nested.dictionary = std::make_shared<ArrowSpec>(Numbers<int8_t>("c", "", {0, 1}));
  nested.dictionary->dictionary = words;
  other.dictionary = floats.dictionary = words;
  for (const ArrowSpec& column : {other, floats, nested}) {
    EXPECT_THAT(Failure([&] { Open({Rows({column})}); }).second, HasSubstr("whole numbers"));
  }
}

TEST_F(CStreamTest, ColumnsOfOtherTypesAreNotTouched) {
  ArrowSpec other{"+ud:1,2", "union", 1, {}};
  ArrowBatch batch;
  const auto stream = Open({Rows({other, Numbers<int32_t>("i", "x", {7})})});
  ASSERT_TRUE(stream->Next(batch));
  EXPECT_EQ(stream->fields()[0].type.kind, ArrowKind::kOther);
  EXPECT_EQ(batch.columns[1].Load<int32_t>(1, 0), 7);
}

}  // namespace
}  // namespace graphd
