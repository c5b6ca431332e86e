// SPDX-License-Identifier: Apache-2.0
#include "format/native/segment_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/rng.h"
#include "base/strings.h"
#include "format/io/checksum.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/text_files.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::ScratchDirectory;
using testing::WriteText;

constexpr size_t kThreads = 3;

// A file of some 70 MiB, so that several threads read it, whose arrays begin and end inside of
// pieces. The padding between the arrays is not zero.
class SegmentReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    info_.file = "arrays.seg";
    info_.layout.Add("offsets", DType::kInt64, {5'000'001});
    info_.layout.Add("none", DType::kFloat32, {0, 4});
    info_.layout.Add("flags", DType::kUInt8, {77});
    info_.layout.Add("feat", DType::kFloat32, {80'000, 100});
    bytes_.assign(info_.layout.total_bytes(), '\xee');
    CounterRng random(1);
    for (const ArraySpec& array : info_.layout.arrays()) {
      for (uint64_t i = 0; i < array.bytes; i += sizeof(uint64_t)) {
        const uint64_t next = random.Next();
        std::memcpy(&bytes_[array.offset + i], &next, std::min(sizeof next, array.bytes - i));
      }
      Checksum checksum;
      checksum.Update(std::as_bytes(std::span(bytes_).subspan(array.offset, array.bytes)));
      info_.checksums.push_back(checksum.Digest());
      array_bytes_ += array.bytes;
    }
  }

  void WriteFile() const { WriteText(directory_ / info_.file, bytes_); }
  std::shared_ptr<const Segment> Read(bool verify_checksums = true) {
    return SegmentReader(directory_.path(), info_, kThreads)
        .Read(verify_checksums, [&](uint64_t bytes) { reported_ += bytes; });
  }

  ScratchDirectory directory_;
  NativeSegmentInfo info_;
  std::string bytes_;
  uint64_t array_bytes_ = 0, reported_ = 0;
};

TEST_F(SegmentReaderTest, ReadsAllArraysAndNoPadding) {
  WriteFile();
  const std::shared_ptr<const Segment> segment = Read();
  uint64_t end = 0;
  const std::byte* const base = segment->array("offsets").data();
  for (const ArraySpec& array : info_.layout.arrays()) {
    EXPECT_EQ(std::memcmp(base + array.offset, &bytes_[array.offset], array.bytes), 0)
        << array.name;
    for (; end < array.offset; end++) ASSERT_EQ(base[end], std::byte{0}) << end;
    end = array.offset + array.bytes;
  }
  EXPECT_EQ(reported_, array_bytes_);
}

TEST_F(SegmentReaderTest, NamesTheDamagedArray) {
  const ArraySpec& feat = info_.layout.arrays().back();
  bytes_[feat.offset + feat.bytes - 1] ^= 1;
  WriteFile();
  EXPECT_THAT(ErrorOf([&] { Read(); }), AllOf(HasSubstr("corrupt"), HasSubstr("array 'feat'")));
  EXPECT_NO_THROW(Read(/*verify_checksums=*/false));
}

TEST_F(SegmentReaderTest, RefusesAFileThatIsTooShort) {
  for (const size_t bytes : {bytes_.size() - 1, bytes_.size() / 2, size_t{0}}) {
    bytes_.resize(bytes);
    WriteFile();
    EXPECT_THAT(ErrorOf([&] { Read(/*verify_checksums=*/false); }),
                AllOf(HasSubstr("corrupt"), HasSubstr(StrCat("arrays.seg: ", bytes, " bytes"))))
        << bytes;
  }
}

TEST_F(SegmentReaderTest, EndsWithTheExceptionOfTheCaller) {
  WriteFile();
  SegmentReader reader(directory_.path(), info_, kThreads);
  EXPECT_THROW(std::move(reader).Read(true, [](uint64_t) { throw std::domain_error("stopped"); }),
               std::domain_error);
}

}  // namespace
}  // namespace graphd
