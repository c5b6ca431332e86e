// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/ipc_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "format/arrow/feature_values.h"
#include "tests/unit/format/mutate.h"
#include "tests/unit/format/raw_graph_checks.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using testing::Failure;
using ::testing::HasSubstr;

std::string Fixture(const std::string& name) {
  return testing::ReadBytes(std::string(GRAPHD_ARROW_FIXTURES) + "/" + name);
}

// Returns a source that gives the bytes in pieces of at most `piece`, and counts them.
ByteSource SourceOf(const std::string& bytes, size_t piece = 1000, size_t* taken = nullptr) {
  return [&bytes, piece, taken, at = size_t{0}](std::span<std::byte> out) mutable {
    const size_t size = std::min({piece, out.size(), bytes.size() - at});
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()) + at, size, out.data());
    at += size;
    if (taken != nullptr) *taken = at;
    return size;
  };
}

// Reads all batches, and every value that the library would read.
std::vector<ArrowBatch> ReadAll(ArrowStream& stream) {
  std::vector<ArrowBatch> batches;
  ArrowBatch batch;
  while (stream.Next(batch)) {
    for (const ArrowColumn& column : batch.columns) {
      const ArrowColumn* each = &column;
      try {
        FeatureValues("x").Append({&each, 1}, batch.owner, "table", 0);
      } catch (const Error&) {
      }
    }
    batches.push_back(batch);
  }
  return batches;
}

class IpcStreamTest : public ::testing::Test {
 protected:
  void Open(const std::string& name) {
    bytes_ = Fixture(name);
    stream_ = OpenIpcStream(SourceOf(bytes_), name);
    batches_ = ReadAll(*stream_);
  }
  const ArrowColumn& Column(const std::string& name, size_t batch = 0) {
    for (size_t c = 0; c < stream_->fields().size(); c++) {
      if (stream_->fields()[c].name == name) return batches_[batch].columns[c];
    }
    throw std::runtime_error("no column " + name);
  }
  std::string bytes_;
  std::unique_ptr<ArrowStream> stream_;
  std::vector<ArrowBatch> batches_;
};

TEST_F(IpcStreamTest, EveryTypeThatPyarrowWritesIsUnderstood) {
  Open("types.arrows");
  ASSERT_EQ(batches_.size(), 2u);
  EXPECT_EQ(batches_[0].rows, 3);
  EXPECT_TRUE(Column("null").IsNull(0));
  EXPECT_TRUE(Column("bool").Bit(1, 0));
  EXPECT_TRUE(Column("bool").IsNull(1));
  EXPECT_FALSE(Column("bool").Bit(1, 2));
  EXPECT_EQ(Column("int8", 1).Load<int8_t>(1, 2), 5);
  EXPECT_EQ(Column("uint64", 1).Load<uint64_t>(1, 0), 3u);
  EXPECT_TRUE(Column("uint64").IsNull(1));
  EXPECT_EQ(Column("float16").type->dtype, DType::kFloat16);
  EXPECT_EQ(Column("float32").Load<float>(1, 2), 0.1f);
  EXPECT_EQ(Column("float64").Load<double>(1, 0), 0.5);
  for (const char* name : {"string", "large_string", "string_view"}) {
    EXPECT_EQ(Column(name).Text(0), "short");
    EXPECT_TRUE(Column(name).IsNull(1));
    EXPECT_EQ(Column(name).Text(2), "a text of more than twelve bytes");
  }
  for (const char* name : {"date", "decimal", "struct", "binary"}) {
    EXPECT_NE(Column(name).type->kind, ArrowKind::kNumber);
  }
}

TEST_F(IpcStreamTest, ListsAndDictionariesOfEachBatchAreItsOwn) {
  Open("types.arrows");
  EXPECT_EQ(Column("list").Items(0), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_TRUE(Column("list").children[0].IsNull(3));
  EXPECT_EQ(Column("large_list").Items(2), std::pair(int64_t{4}, int64_t{6}));
  EXPECT_EQ(Column("fixed_list").children[0].Load<double>(1, 5), 6.0);
  EXPECT_EQ(Column("label", 0).dictionary->Text(0), "a");
  EXPECT_EQ(Column("label", 1).dictionary->Text(0), "b");
  EXPECT_EQ(Column("year").dictionary->Load<int64_t>(1, 1), 2025);
}

TEST_F(IpcStreamTest, BytesBehindTheEndAreLeft) {
  const std::string one = Fixture("edges.arrows"), both = one + Fixture("sliced.arrows");
  size_t taken = 0;
  const ByteSource source = SourceOf(both, 7, &taken);
  // A copy of a std::function would have a position of its own.
  const auto shared = [&source](std::span<std::byte> out) { return source(out); };
  const auto first = OpenIpcStream(shared, "first");
  EXPECT_EQ(ReadAll(*first).at(0).rows, 2);
  EXPECT_EQ(taken, one.size());
  const auto second = OpenIpcStream(shared, "second");
  const std::vector<ArrowBatch> batches = ReadAll(*second);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].columns[2].Load<double>(1, 0), 2.0);
}

TEST_F(IpcStreamTest, CompressedBatchesAreRefused) {
  const auto [code, message] = Failure([&] { Open("compressed.arrows"); });
  EXPECT_EQ(code, ErrorCode::kInvalid);
  EXPECT_THAT(message, HasSubstr("compressed"));
}

TEST_F(IpcStreamTest, OtherBytesAreRefused) {
  for (const std::string& bytes : {std::string(), std::string("src,dst\n0,1\n"),
                                   std::string(99, '\0'), std::string(99, '\xff')}) {
    const auto [code, message] =
        Failure([&] { ReadAll(*OpenIpcStream(SourceOf(bytes), "table")); });
    EXPECT_EQ(code, ErrorCode::kCorrupt) << message;
    EXPECT_THAT(message, HasSubstr("damaged Arrow"));
  }
}

TEST_F(IpcStreamTest, DamagedStreamsEndWithAnError) {
  int64_t refused = 0, read = 0;
  const test::Damage damage{.seed = 3, .count = 4000, .cut_step = 13};
  test::Mutate(Fixture("types.arrows"), damage, [&](const auto& name, const std::string& bytes) {
    try {
      ReadAll(*OpenIpcStream(SourceOf(bytes), "table"));
      read++;  // the damage is in a value
    } catch (const Error& error) {
      refused++;
      EXPECT_TRUE(error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kInvalid)
          << name << ": " << error.what();
    }
  });
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace graphd
