// SPDX-License-Identifier: Apache-2.0
#include "format/io/table_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using testing::Failure;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::WriteGzip;
using testing::WriteText;

using Rows = std::vector<std::vector<std::string>>;

struct Table {
  TableFormat format;
  Rows rows;
};

Table Read(const std::string& text, const TableHints& hints = {}, bool gzip = false) {
  ScratchDirectory directory;
  const std::string path = directory / "t";
  gzip ? WriteGzip(path, text) : WriteText(path, text);
  Table table{DetectTable(path, hints), {}};
  TableReader reader(path, table.format);
  while (reader.Next()) table.rows.emplace_back(reader.cells().begin(), reader.cells().end());
  return table;
}

TEST(Table, FindsEverySeparator) {
  for (const char* separator : {",", "\t", ";", " ", "  "}) {
    const std::string s = separator;
    const Table table = Read("1" + s + "2\n3" + s + "4\r\n\n5" + s + "6");
    EXPECT_EQ(table.format.separator, s[0]);
    EXPECT_FALSE(table.format.header);
    EXPECT_THAT(table.format.columns, ElementsAre("0", "1"));
    EXPECT_EQ(table.rows, (Rows{{"1", "2"}, {"3", "4"}, {"5", "6"}})) << '"' << s << '"';
  }
}

TEST(Table, DetectsGzipByItsContent) {
  EXPECT_EQ(Read("a,1\nb,2\n", {}, true).rows, (Rows{{"a", "1"}, {"b", "2"}}));
}

TEST(Table, TextAboveNumbersIsAHeader) {
  const Table table = Read("u\tv\tweight\n1\t2\t0.5\n");
  EXPECT_TRUE(table.format.header);
  EXPECT_THAT(table.format.columns, ElementsAre("u", "v", "weight"));
  EXPECT_EQ(table.rows, (Rows{{"1", "2", "0.5"}}));
  EXPECT_FALSE(table.format.ids[1].text);
  ASSERT_TRUE(table.format.ids[2].text);
  EXPECT_EQ(table.format.ids[2].text->line, 2);
  EXPECT_EQ(table.format.ids[2].text->text, "0.5");
}

TEST(Table, OnlyUsualColumnNamesAboveTextAreAHeader) {
  EXPECT_TRUE(Read("Source,Target\nann,bob\n").format.header);
  EXPECT_FALSE(Read("ann,bob\nbob,carl\n").format.header);
  EXPECT_TRUE(
      Read("ann,bob\nbob,carl\n", {.separator = std::nullopt, .header = true}).format.header);
  EXPECT_FALSE(Read("u,v\n1,2\n", {.separator = std::nullopt, .header = false}).format.header);
}

TEST(Table, AFirstRowWithAHintedNameIsAHeader) {
  const TableHints hints{.separator = std::nullopt, .header = std::nullopt, .names = {"friend"}};
  EXPECT_TRUE(Read("person,friend\nann,bob\n", hints).format.header);
  EXPECT_FALSE(Read("ann,bob\nperson,friend\n", hints).format.header);
  EXPECT_FALSE(Read("friend,1\nann,2\n", hints).format.header);
}

TEST(Table, TheFirstCellsThatAreNotIdsAreReported) {
  const TableFormat format = Read("# ids\n0,\"a\nb\"\n-1,2\n-2,-3\n").format;
  EXPECT_EQ(format.first_line, 2);
  EXPECT_FALSE(format.ids[0].text);
  ASSERT_TRUE(format.ids[0].negative && format.ids[1].text && format.ids[1].negative);
  EXPECT_EQ(format.ids[0].negative->line, 4);
  EXPECT_EQ(format.ids[0].negative->text, "-1");
  EXPECT_EQ(format.ids[1].text->line, 2);
  EXPECT_EQ(format.ids[1].negative->line, 5);
}

TEST(Table, CommentsBeforeTheFirstRowAreSkipped) {
  const Table table = Read("# Directed graph\n% of 2 edges\n0\t1\n#a\t2\n");
  EXPECT_EQ(table.rows, (Rows{{"0", "1"}, {"#a", "2"}}));
}

TEST(Table, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "1,2\n3,4\n")
                .rows[0][0],
            "1");
}

TEST(Table, QuotedCellsMayContainAnyText) {
  const Table table =
      Read("id,text\n1,\"a, \"\"b\"\"\"\n2,\"two\nlines\"\n 3 , plain \"x\" \n4,\"\"\n");
  EXPECT_EQ(table.rows,
            (Rows{{"1", "a, \"b\""}, {"2", "two\nlines"}, {"3", "plain \"x\""}, {"4", ""}}));
}

TEST(Table, EmptyCellsCount) {
  EXPECT_EQ(Read("1,,3\n4,5,\n").rows, (Rows{{"1", "", "3"}, {"4", "5", ""}}));
  EXPECT_EQ(Read("1\t\t3\n4\t5\t\n").rows, (Rows{{"1", "", "3"}, {"4", "5", ""}}));
}

TEST(Table, AFileWithoutRowsHasNoColumns) {
  for (const char* text : {"", "\n\n", "# nothing\n"}) {
    const Table table = Read(text);
    EXPECT_TRUE(table.format.columns.empty());
    EXPECT_TRUE(table.rows.empty());
  }
}

TEST(Table, RowsOfDifferentLengthAreErrorsWithTheLine) {
  auto [code, message] = Failure([] { Read("1,2\n3\n"); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("t:2: 1 cells"));
  std::string late;
  for (int i = 0; i < 200; i++) late += "1,2\n";
  std::tie(code, message) = Failure([&] { Read(late + "1,2,3\n"); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("t:201: 3 cells, expected 2"));
}

TEST(Table, MisplacedQuotesAreErrorsWithTheLine) {
  std::string text;
  for (int i = 0; i < 200; i++) text += "1,2\n";
  auto [code, message] = Failure([&] { Read(text + "1,\"open\n1,2\n"); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("t:201: a quoted cell begins here and is not closed"));
  std::tie(code, message) = Failure([&] { Read(text + "1,\"a\"b\n"); });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("t:201: 'b' follows a closing quote"));
}

TEST(Table, HeadersWithEqualOrEmptyNamesAreRefused) {
  EXPECT_THAT(Failure([] { Read("a,b,a\n1,2,3\n"); }).second, HasSubstr("two columns 'a'"));
  EXPECT_THAT(
      Failure([] { Read("src,,a\n1,2,3\n", {.separator = std::nullopt, .header = true}); }).second,
      HasSubstr("column 1 has no name"));
}

TEST(Table, ColumnsAreFoundByNameThenByPosition) {
  const TableFormat format =
      Read("x,1,0\n5,6,7\n", {.separator = std::nullopt, .header = true}).format;
  EXPECT_EQ(format.Find("t", "x"), 0u);
  EXPECT_EQ(format.Find("t", "0"), 2u);  // a name takes precedence
  EXPECT_EQ(format.Find("t", "2"), 2u);
  auto [code, message] = Failure([&] { format.Find("t", "y"); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("no column 'y'; there are 3: x, 1, 0"));
  EXPECT_THAT(Failure([] { Read("a,b\n").format.Find("t", "y"); }).second,
              HasSubstr("if its first row is a header, give --header yes"));
}

TEST(Table, ATruncatedCompressedFileIsAnError) {
  ScratchDirectory directory;
  std::string text;
  for (int i = 0; i < 50000; i++) text += StrCat(i, ",", i * 7, "\n");
  WriteGzip(directory / "a", text);
  const std::string whole = testing::ReadBytes(directory / "a");
  WriteText(directory / "b", whole.substr(0, whole.size() / 2));
  auto [code, message] = Failure([&] {
    TableReader reader(directory / "b", DetectTable(directory / "a"));
    while (reader.Next()) {
    }
  });
  EXPECT_EQ(code, ErrorCode::kCorrupt);
  EXPECT_THAT(message, HasSubstr("compressed data ends too early"));
}

}  // namespace
}  // namespace graphd
