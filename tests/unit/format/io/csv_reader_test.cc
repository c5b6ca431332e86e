// SPDX-License-Identifier: Apache-2.0
#include "format/io/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::WriteGzip;
using testing::WriteText;

// Returns the message of the Error(kCorrupt) that `f` throws.
template <class F>
std::string CorruptMessage(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  return "no error";
}

TEST(Csv, ReadsPlainAndCompressedTextAlike) {
  ScratchDirectory directory;
  const std::string text = "1,2\r\n\n 3 , -4\n5,6";
  WriteText(directory / "a.csv", text);
  WriteGzip(directory / "a.csv.gz", text);
  for (const char* name : {"a.csv", "a.csv.gz"}) {
    CsvReader csv(directory / name);
    std::vector<std::array<int64_t, 2>> rows;
    std::array<int64_t, 2> row{};
    while (csv.NextRow()) {
      csv.ParseInts(row);
      rows.push_back(row);
    }
    EXPECT_EQ(rows, (std::vector<std::array<int64_t, 2>>{{1, 2}, {3, -4}, {5, 6}})) << name;
    EXPECT_EQ(csv.line(), 4);
  }
}

TEST(Csv, AnEmptyFileHasNoRows) {
  ScratchDirectory directory;
  WriteText(directory / "a.csv", "");
  WriteGzip(directory / "a.csv.gz", "");
  EXPECT_FALSE(CsvReader(directory / "a.csv").NextRow());
  EXPECT_FALSE(CsvReader(directory / "a.csv.gz").NextRow());
}

TEST(Csv, LinesMayBeLongerThanTheBuffer) {
  ScratchDirectory directory;
  std::string text;
  constexpr int kColumns = 400'000;
  for (int i = 0; i < kColumns; i++) text += std::to_string(i) + (i + 1 < kColumns ? "," : "\n");
  WriteGzip(directory / "a.csv.gz", text + text);
  const Tensor values = ReadCsvMatrix(directory / "a.csv.gz", 2, NumberKind::kInfer);
  ASSERT_EQ(values.shape(), (std::vector<int64_t>{2, kColumns}));
  EXPECT_EQ(values.as<int64_t>()[2 * kColumns - 1], kColumns - 1);
}

TEST(Csv, OneColumnOfWholeNumbersIsAnInt64Vector) {
  ScratchDirectory directory;
  WriteText(directory / "a.csv", "7\n-9223372036854775808\n0\n");
  const Tensor values = ReadCsvMatrix(directory / "a.csv", 3, NumberKind::kInfer);
  EXPECT_EQ(values.shape(), std::vector<int64_t>{3});
  EXPECT_EQ(values.as<int64_t>()[1], INT64_MIN);
}

TEST(Csv, OneNonIntegerCellMakesTheWholeFileFloats) {
  ScratchDirectory directory;
  WriteText(directory / "a.csv", "1\nnan\n2.5\n-1e-3\n1e-60\n1e60\n");
  const Tensor values = ReadCsvMatrix(directory / "a.csv", 6, NumberKind::kInfer);
  const auto floats = values.as<float>();
  EXPECT_EQ(floats[0], 1.0f);
  EXPECT_TRUE(std::isnan(floats[1]));
  EXPECT_EQ(floats[2], 2.5f);
  EXPECT_EQ(floats[3], -1e-3f);
  EXPECT_EQ(floats[4], 0.0f);
}

TEST(Csv, NumbersAreRoundedToTheNearestFloat) {
  ScratchDirectory directory;
  WriteText(directory / "a.csv", "0.1,16777217,3.4028235e38\n");
  const Tensor values = ReadCsvMatrix(directory / "a.csv", 1, NumberKind::kFloat);
  EXPECT_EQ(values.as<float>()[0], 0.1f);
  EXPECT_EQ(values.as<float>()[1], 16777216.0f);
  EXPECT_EQ(values.as<float>()[2], std::numeric_limits<float>::max());
}

TEST(Csv, ErrorsNameFileAndLine) {
  ScratchDirectory directory;
  const std::string path = directory / "a.csv";
  const auto read = [&](const std::string& text, int64_t rows, NumberKind kind) {
    WriteText(path, text);
    return CorruptMessage([&] { ReadCsvMatrix(path, rows, kind); });
  };
  EXPECT_THAT(read("1,2\n3,x\n", 2, NumberKind::kInfer), HasSubstr("a.csv:2: 'x' is not a number"));
  EXPECT_THAT(read("1,2\n3\n", 2, NumberKind::kInfer), HasSubstr("a.csv:2: 1 columns, expected 2"));
  EXPECT_THAT(read("1,2\n3,4,5\n", 2, NumberKind::kFloat), HasSubstr("a.csv:2: 3 columns"));
  EXPECT_THAT(read("1,2\n3,4,\n", 2, NumberKind::kFloat), HasSubstr("a.csv:2: 3 columns"));
  EXPECT_THAT(read("1\n2\n3\n", 2, NumberKind::kInfer), HasSubstr("a.csv:3: more rows than the 2"));
  EXPECT_THAT(read("1\n2\n", 3, NumberKind::kInfer), HasSubstr("ends after 2 rows, expected 3"));
  EXPECT_THAT(read("1.5.2\n", 1, NumberKind::kFloat), HasSubstr("'1.5.2' is not a number"));
}

TEST(Csv, TruncatedOrDamagedCompressionIsAnError) {
  ScratchDirectory directory;
  std::string text;
  for (int i = 0; i < 20000; i++) text += std::to_string(i * 7919 % 10007) + "\n";
  const std::string path = directory / "a.csv.gz";
  WriteGzip(path, text);
  std::string packed = testing::ReadBytes(path);
  WriteText(path, packed.substr(0, packed.size() / 2));
  EXPECT_THAT(CorruptMessage([&] { ReadCsvMatrix(path, 20000, NumberKind::kInfer); }),
              HasSubstr("ends too early"));
  packed[packed.size() - 5] ^= 1;  // corrupts the stored length or checksum
  WriteText(path, packed);
  EXPECT_THAT(CorruptMessage([&] { ReadCsvMatrix(path, 20000, NumberKind::kInfer); }),
              HasSubstr("a.csv.gz:"));
}

TEST(Csv, AMissingFileIsNotFound) {
  try {
    CsvReader csv("/nowhere/a.csv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

}  // namespace
}  // namespace graphd
