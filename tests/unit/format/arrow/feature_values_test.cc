// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/feature_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arrow_source.h"
#include "format/arrow/c_stream.h"
#include "tests/unit/format/raw_graph_checks.h"

namespace graphd {
namespace {

using testing::ArrowSpec;
using testing::BytesOf;
using ::testing::ElementsAre;
using testing::Failure;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::Rows;
using testing::StreamOf;
using testing::Texts;

// Reads one feature from all columns of the batches, row by row.
struct Feature {
  Feature(std::vector<ArrowSpec> batches, FeatureDTypes dtypes, bool mask = false)
      : values("x", dtypes) {
    ArrowArrayStream given = StreamOf(std::move(batches));
    const auto stream = OpenArrowStream(given, "table");
    ArrowBatch batch;
    int64_t rows = 0;
    for (; stream->Next(batch); rows += batch.rows) {
      std::vector<const ArrowColumn*> columns;
      for (const ArrowColumn& column : batch.columns) columns.push_back(&column);
      values.Append(columns, batch.owner, "table", rows);
      const auto& buffers = batch.columns[0].buffers;
      if (first == nullptr && !buffers.empty()) first = buffers.back().data;
      width = std::max<int64_t>(static_cast<int64_t>(columns.size()), values.list_size());
    }
    std::vector<int64_t> shape{rows};
    if (width > 1) shape.push_back(width);
    labels = values.labels();
    tensor = std::move(values).Finish(std::move(shape), mask);
  }
  FeatureValues values;
  const std::byte* first = nullptr;  // the last buffer of the first column
  int64_t width = 1;
  std::shared_ptr<NameTable> labels;
  Tensor tensor;
};

Feature AsText(ArrowSpec column, bool mask = false) {
  return Feature({Rows({std::move(column)})}, FeatureDTypes::kAsText, mask);
}
Feature Kept(ArrowSpec column) {
  return Feature({Rows({std::move(column)})}, FeatureDTypes::kKept);
}

template <class T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

TEST(FeatureValuesTest, TextsRulesChooseTheDType) {
  EXPECT_EQ(AsText(Numbers<int8_t>("c", "x", {1, -2})).tensor.dtype(), DType::kInt64);
  EXPECT_EQ(AsText(Numbers<uint32_t>("I", "x", {1, 4000000000u})).tensor.dtype(), DType::kInt64);
  EXPECT_EQ(AsText(Numbers<uint64_t>("L", "x", {1, UINT64_MAX})).tensor.dtype(), DType::kFloat64);
  EXPECT_EQ(AsText(Numbers<float>("f", "x", {0.1f})).tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(AsText(Numbers<uint16_t>("e", "x", {0x3e00})).tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(AsText(Numbers<double>("g", "x", {0.5, 1e20})).tensor.dtype(), DType::kFloat32);
  EXPECT_EQ(AsText(Numbers<double>("g", "x", {0.5, 0.1234567891})).tensor.dtype(), DType::kFloat64);
  EXPECT_EQ(AsText(Numbers<double>("g", "x", {0.5, 1e300})).tensor.dtype(), DType::kFloat64);
  EXPECT_EQ(AsText({"b", "x", 3, {std::nullopt, std::string("\x05")}}).tensor.dtype(),
            DType::kUInt8);
  EXPECT_EQ(AsText(Numbers<int32_t>("i", "x", {0, 1}), true).tensor.dtype(), DType::kUInt8);
  EXPECT_EQ(AsText(Numbers<int64_t>("l", "x", {0, 1}), true).tensor.dtype(), DType::kUInt8);
  EXPECT_EQ(AsText(Numbers<int32_t>("i", "x", {0, 2}), true).tensor.dtype(), DType::kInt64);
  EXPECT_EQ(AsText(Texts("x", {"1", "2"})).tensor.dtype(), DType::kInt64);
  EXPECT_EQ(AsText(Texts("x", {"1", ""})).tensor.dtype(), DType::kFloat32);
}

TEST(FeatureValuesTest, KeptDTypesAreThoseOfTheColumns) {
  EXPECT_EQ(Kept(Numbers<int8_t>("c", "x", {1, -2})).tensor.dtype(), DType::kInt8);
  EXPECT_EQ(Kept(Numbers<uint64_t>("L", "x", {1})).tensor.dtype(), DType::kUInt64);
  EXPECT_EQ(Kept(Numbers<double>("g", "x", {0.5})).tensor.dtype(), DType::kFloat64);
  const Feature half = Kept(Numbers<uint16_t>("e", "x", {0x3e00}));
  EXPECT_EQ(half.tensor.dtype(), DType::kFloat16);
  const Feature bools = Kept({"b", "x", 3, {std::nullopt, std::string("\x05")}});
  EXPECT_THAT(ValuesOf<bool>(bools.tensor), ElementsAre(true, false, true));
}

TEST(FeatureValuesTest, HalfFloatsBecomeTheSameFloats) {
  EXPECT_THAT(ValuesOf<float>(AsText(Numbers<uint16_t>("e", "x", {0x3e00, 0xc000})).tensor),
              ElementsAre(1.5f, -2.f));
}

TEST(FeatureValuesTest, NullsAreNaN) {
  ArrowSpec ints = Numbers<int32_t>("i", "x", {1, 99, 3});
  ints.buffers[0] = std::string("\x05");
  for (const FeatureDTypes dtypes : {FeatureDTypes::kAsText, FeatureDTypes::kKept}) {
    const Feature feature({Rows({Numbers<int32_t>("i", "x", {7})}), Rows({ints})}, dtypes);
    const auto values = ValuesOf<float>(feature.tensor);
    EXPECT_EQ(values[0], 7);
    EXPECT_EQ(values[1], 1);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], 3);
  }
  ArrowSpec doubles = Numbers<double>("g", "x", {1, 99});
  doubles.buffers[0] = std::string("\x01");
  EXPECT_TRUE(std::isnan(ValuesOf<double>(Kept(doubles).tensor)[1]));
  ArrowSpec bools{"b", "x", 2, {std::string("\x01"), std::string("\x03")}};
  EXPECT_TRUE(std::isnan(ValuesOf<float>(Kept(bools).tensor)[1]));
  EXPECT_TRUE(std::isnan(ValuesOf<float>(Kept({"n", "x", 1, {}}).tensor)[0]));
}

TEST(FeatureValuesTest, ASingleBatchIsNotCopied) {
  const Feature kept = Kept(Numbers<int16_t>("s", "x", {1, 2}));
  EXPECT_EQ(kept.tensor.data(), kept.first);
  const Feature ints = AsText(Numbers<int64_t>("l", "x", {1, 2}));
  EXPECT_EQ(ints.tensor.data(), ints.first);
  const Feature floats = AsText(Numbers<float>("f", "x", {1, 2}));
  EXPECT_EQ(floats.tensor.data(), floats.first);
  const auto rows = [] { return Rows({Numbers<int64_t>("l", "x", {1, 2})}); };
  EXPECT_THAT(ValuesOf<int64_t>(Feature({rows(), rows()}, FeatureDTypes::kKept).tensor),
              ElementsAre(1, 2, 1, 2));
}

TEST(FeatureValuesTest, OneNaNStandsForAll) {
  const float odd = -std::numeric_limits<float>::quiet_NaN();
  const Feature feature = AsText(Numbers<float>("f", "x", {odd}));
  uint32_t bits = 0;
  std::memcpy(&bits, feature.tensor.data(), sizeof bits);
  EXPECT_EQ(bits, 0x7fc00000u);
}

TEST(FeatureValuesTest, ListsOfOneLengthAreRowsOfNumbers) {
  const ArrowSpec items = Numbers<int32_t>("i", "item", {9, 1, 2, 3, 4});
  ArrowSpec list{"+l", "x", 2, {std::nullopt, BytesOf<int32_t>({1, 3, 5})}, {items}};
  const Feature kept = Kept(list);
  EXPECT_THAT(kept.tensor.shape(), ElementsAre(2, 2));
  EXPECT_THAT(ValuesOf<int32_t>(kept.tensor), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ValuesOf<int64_t>(AsText(list).tensor), ElementsAre(1, 2, 3, 4));
  ArrowSpec fixed{"+w:2", "x", 1, {std::nullopt}, {Numbers<int32_t>("i", "item", {0, 0, 5, 6})}};
  fixed.offset = 1;
  EXPECT_THAT(ValuesOf<int32_t>(Kept(fixed).tensor), ElementsAre(5, 6));
}

TEST(FeatureValuesTest, ListsThatAreNullAreNaN) {
  ArrowSpec list{"+l",
                 "x",
                 3,
                 {std::string("\x06"), BytesOf<int32_t>({0, 0, 2, 4})},
                 {Numbers<float>("f", "item", {1, 2, 3, 4})}};
  const auto values = ValuesOf<float>(Kept(list).tensor);
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], 1);
  EXPECT_EQ(values[5], 4);
}

TEST(FeatureValuesTest, ListsOfOtherLengthsAreRefusedWithTheirRow) {
  ArrowSpec list{"+l",
                 "x",
                 2,
                 {std::nullopt, BytesOf<int32_t>({0, 2, 3})},
                 {Numbers<float>("f", "item", {1, 2, 3})}};
  const auto [code, message] = Failure([&] { Kept(list); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("column 'x' has 1 numbers in row 1 (from 0), expected 2"));
  list.buffers[1] = BytesOf<int32_t>({0, 0, 0});
  EXPECT_THAT(Failure([&] { Kept(list); }).second, HasSubstr("an empty list in row 0"));
}

TEST(FeatureValuesTest, DictionariesOfTextAreLabels) {
  ArrowSpec first = Numbers<int8_t>("c", "x", {1, 0}), second = Numbers<int8_t>("c", "x", {0, 1});
  first.dictionary = std::make_shared<ArrowSpec>(Texts("", {"b", "a", "unused"}));
  second.dictionary = std::make_shared<ArrowSpec>(Texts("", {"new", "a"}));
  const Feature feature({Rows({first}), Rows({second})}, FeatureDTypes::kKept);
  EXPECT_THAT(ValuesOf<int64_t>(feature.tensor), ElementsAre(1, 0, 3, 1));
  ASSERT_EQ(feature.labels->size(), 4u);
  EXPECT_EQ(feature.labels->name(3), "new");
  ArrowSpec years = Numbers<int8_t>("c", "x", {1, 0});
  years.dictionary = std::make_shared<ArrowSpec>(Numbers<int32_t>("i", "", {2024, 2025}));
  EXPECT_THAT(ValuesOf<int64_t>(AsText(years).tensor), ElementsAre(2025, 2024));
}

TEST(FeatureValuesTest, WhatIsNoNumberIsRefusedWithARemedy) {
  const auto complaint = [](const ArrowSpec& column, FeatureDTypes dtypes) {
    return Failure([&] { Feature({Rows({column})}, dtypes); }).second;
  };
  for (const FeatureDTypes dtypes : {FeatureDTypes::kAsText, FeatureDTypes::kKept}) {
    ArrowSpec column = Numbers<int32_t>("tdD", "x", {1});
    EXPECT_THAT(complaint(column, dtypes), HasSubstr("is a date or time, not a number; cast"));
    column.format = "d:10,2";
    EXPECT_THAT(complaint(column, dtypes), HasSubstr("is decimal; cast it to float64"));
    column.format = "+s";
    EXPECT_THAT(complaint(column, dtypes), HasSubstr("is struct"));
    EXPECT_THAT(complaint(Texts("x", {"1", "blue"}), dtypes), HasSubstr("make it a dictionary"));
    ArrowSpec lists{"+l", "x", 1, {std::nullopt, BytesOf<int32_t>({0, 1})}, {Texts("item", {"1"})}};
    EXPECT_THAT(complaint(lists, dtypes), HasSubstr("lists of strings"));
  }
  EXPECT_THAT(complaint(Texts("x", {"1", "blue\x1b"}), FeatureDTypes::kAsText),
              HasSubstr("'blue ' in row 1 (from 0)"));
}

TEST(FeatureValuesTest, SeveralColumnsAreOneFeature) {
  const Feature feature(
      {Rows({Numbers<int32_t>("i", "x.0", {1, 2}), Numbers<int32_t>("i", "x.1", {3, 4})})},
      FeatureDTypes::kKept);
  EXPECT_THAT(ValuesOf<int32_t>(feature.tensor), ElementsAre(1, 3, 2, 4));
  ArrowSpec second = Numbers<int32_t>("i", "x.1", {3, 4});
  second.buffers[0] = std::string("\x01");
  const Feature hole({Rows({Numbers<int32_t>("i", "x.0", {1, 2}), second})}, FeatureDTypes::kKept);
  const auto values = ValuesOf<float>(hole.tensor);
  EXPECT_EQ(values[1], 3);
  EXPECT_TRUE(std::isnan(values[3]));
  const Feature mixed(
      {Rows({Numbers<int32_t>("i", "x.0", {1, 2}), Numbers<double>("g", "x.1", {0.5, 4})})},
      FeatureDTypes::kAsText);
  EXPECT_THAT(ValuesOf<float>(mixed.tensor), ElementsAre(1, 0.5, 2, 4));
}

// Returns a feature with a column and then the cells of text 0.25 and 7.
Tensor WithCells(ArrowSpec of_rows) {
  FeatureValues values("x");
  ArrowArrayStream given = StreamOf({Rows({std::move(of_rows)})});
  const auto stream = OpenArrowStream(given, "table");
  ArrowBatch batch;
  EXPECT_TRUE(stream->Next(batch));
  const ArrowColumn* column = &batch.columns[0];
  values.Append({&column, 1}, batch.owner, "table", 0);
  EXPECT_TRUE(values.Append("0.25"));
  EXPECT_FALSE(values.Append("blue"));
  EXPECT_TRUE(values.Append("7"));
  return std::move(values).Finish({column->length + 2}, false);
}

TEST(FeatureValuesTest, CellsOfTextCanFollow) {
  EXPECT_THAT(ValuesOf<float>(WithCells(Numbers<float>("f", "x", {0.1f}))),
              ElementsAre(0.1f, 0.25f, 7.f));
  EXPECT_THAT(ValuesOf<float>(WithCells(Numbers<int64_t>("l", "x", {1, 2}))),
              ElementsAre(1, 2, 0.25f, 7));
}

TEST(FeatureValuesTest, TextsAreLabelsIfTheyAreAcceptedAndComeFirst) {
  FeatureValues values("x");
  values.AcceptTexts();
  EXPECT_TRUE(values.Append(""));
  EXPECT_TRUE(values.Append("blue"));
  EXPECT_TRUE(values.Append("7"));
  EXPECT_TRUE(values.Append("blue"));
  EXPECT_EQ(values.missing(), 1u);
  EXPECT_EQ(values.labels()->size(), 2u);
  const Tensor labels = std::move(values).Finish({4}, false);
  EXPECT_THAT(ValuesOf<float>(labels), ElementsAre(::testing::IsNan(), 0, 1, 0));
  FeatureValues numbers("x");
  numbers.AcceptTexts();
  EXPECT_TRUE(numbers.Append("7"));
  EXPECT_FALSE(numbers.Append("blue"));
  EXPECT_EQ(numbers.Problem("blue"), "is not a number");
  EXPECT_EQ(numbers.labels(), nullptr);
}

TEST(FeatureValuesTest, TextsHaveALimit) {
  FeatureValues values("x");
  values.AcceptTexts();
  std::string text(1 << 20, 'x');
  for (char c : {'a', 'b', 'c'}) {  // equal texts take no more memory
    for (int i = 0; i < 200; i++) {
      text[0] = c == 'c' ? 'b' : c;
      text[1] = static_cast<char>('0' + (c == 'a' ? 0 : i % 100));
      ASSERT_TRUE(values.Append(text));
    }
  }
  bool accepted = true;
  for (int i = 0; i < 200 && accepted; i++) {
    text[0] = 'd';
    text[1] = static_cast<char>('0' + i);
    accepted = values.Append(text);
  }
  EXPECT_FALSE(accepted);
  EXPECT_EQ(values.Problem(text),
            "is the 256th different text in 755 rows, and they take more than 256 MiB, so they are "
            "probably not labels");
}

TEST(FeatureValuesTest, DictionariesAreNoMasks) {
  ArrowSpec column = Numbers<int8_t>("c", "x", {1, 0});
  column.dictionary = std::make_shared<ArrowSpec>(Texts("", {"yes", "no"}));
  ArrowArrayStream given = StreamOf({Rows({std::move(column)})});
  const auto stream = OpenArrowStream(given, "table");
  ArrowBatch batch;
  ASSERT_TRUE(stream->Next(batch));
  const ArrowColumn* of_mask = &batch.columns[0];
  FeatureValues mask("val_mask"), other("x");
  EXPECT_THAT(
      Failure([&] {
        mask.Append({&of_mask, 1}, batch.owner, "table", 0);
      }).second,
      HasSubstr("column 'val_mask' is a dictionary of text, but a mask has true and false"));
  other.Append({&of_mask, 1}, batch.owner, "table", 0);
  EXPECT_EQ(other.labels()->size(), 2u);
}

TEST(FeatureValuesTest, NumbersInADictionaryAreLabels) {
  ArrowSpec column = Numbers<int8_t>("c", "x", {0, 1, 2});
  column.dictionary = std::make_shared<ArrowSpec>(Texts("", {"NA", "30", "40"}));
  EXPECT_EQ(AsText(column).values.Doubt(), "");
  FeatureValues values("x");
  values.AcceptTexts();
  for (const char* text : {"NA", "30", "40"}) EXPECT_TRUE(values.Append(text));
  EXPECT_THAT(values.Doubt(), HasSubstr("2 of the 3 different texts"));
}

// Nulls in lists take no bytes of the input, so that a few could ask for any amount of memory.
TEST(FeatureValuesTest, ListsHaveALimit) {
  constexpr int32_t kLength = (1 << 20) + 1;
  ArrowSpec lists{"+l", "x", 1, {std::nullopt, BytesOf<int32_t>({0, kLength})}};
  lists.children.push_back({"n", "item", kLength, {}});
  EXPECT_THAT(Failure([&] { AsText(lists); }).second, HasSubstr("a feature may have 1048576"));
}

}  // namespace
}  // namespace graphd
