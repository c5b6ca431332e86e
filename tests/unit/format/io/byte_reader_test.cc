// SPDX-License-Identifier: Apache-2.0
#include "format/io/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/io/npy_file.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ByteReader Reader(const std::string& bytes) {
  return {std::as_bytes(std::span(bytes)), "some.file"};
}

template <class F>
std::string Complaint(F&& f) {
  try {
    f();
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
}

TEST(ByteReader, ReadsNumbersAtAnyAlignmentAndStrings) {
  const std::string bytes(
      "\x07\x01\x02\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
      "abc",
      16);
  ByteReader reader = Reader(bytes);
  EXPECT_EQ(reader.Read<uint8_t>("a"), 7);
  EXPECT_EQ(reader.Read<uint32_t>("b"), 0x201u);
  EXPECT_EQ(reader.ReadString(10, "c"), "abc");
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReader, ErrorsNameFileOffsetAndMissingField) {
  const std::string bytes(10, '\xff');
  ByteReader reader = Reader(bytes);
  reader.Read<uint32_t>("first");
  EXPECT_THAT(Complaint([&] { reader.Read<uint64_t>("the second number"); }),
              AllOf(HasSubstr("some.file, offset 4"), HasSubstr("the second number needs 8 bytes"),
                    HasSubstr("ends after 6")));
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_THAT(Complaint([&] { reader.Seek(11, "the end"); }), HasSubstr("the file ends at 10"));
  EXPECT_THAT(Complaint([&] { reader.ReadBytes(UINT64_MAX, "all"); }), HasSubstr("offset 4"));
}

TEST(ByteReader, RefusesCountsThatTheFileCannotHold) {
  std::string bytes(8 + 30, '\0');
  bytes[0] = 4;
  ByteReader reader = Reader(bytes);
  EXPECT_THAT(Complaint([&] { reader.ReadCount(10, "tensors"); }),
              AllOf(HasSubstr("offset 0: tensors is 4"), HasSubstr("at most 3")));
  bytes.replace(0, 8, std::string(8, '\xff'));
  reader = Reader(bytes);
  EXPECT_THAT(Complaint([&] { reader.ReadString(100, "name"); }), HasSubstr("at most 100"));
}

class Npy : public testing::Test {
 protected:
  std::string File(const std::string& header, const std::string& data, char version = 1) {
    std::string text = std::string("\x93NUMPY") + version + '\0';
    text += static_cast<char>(header.size());
    text += std::string(version == 1 ? 1 : 3, '\0');
    WriteAll(folder_ / "x.npy", text + header + data);
    return folder_ / "x.npy";
  }
  TempFolder folder_;
};

TEST_F(Npy, EveryVersionAndShapeIsRead) {
  for (char version : {'\1', '\2', '\3'}) {
    const NpyFile file(File("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n",
                            std::string(24, '\1'), version));
    EXPECT_EQ(file.dtype(), DType::kInt32);
    EXPECT_EQ(file.shape(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(file.num_elements(), 6);
    EXPECT_EQ(file.data().size(), 24u);
  }
  EXPECT_EQ(NpyFile(File("{'descr':'|b1','fortran_order':False,'shape':()}", "x")).num_elements(),
            1);
  EXPECT_EQ(
      NpyFile(File("{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", "")).num_elements(),
      0);
}

TEST_F(Npy, ErrorsNameTheFaultOfTheHeader) {
  const auto complaint = [&](const std::string& header, const std::string& data) {
    const std::string path = File(header, data);
    return Complaint([&] { NpyFile file(path); });
  };
  EXPECT_THAT(complaint("{'descr': '<i4', 'fortran_order': True, 'shape': (1, 1)}", "1234"),
              HasSubstr("C order"));
  EXPECT_THAT(complaint("{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}", "1234"),
              HasSubstr("'descr'"));
  EXPECT_THAT(complaint("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", "1234"),
              AllOf(HasSubstr("4 bytes of data"), HasSubstr("expected 8")));
  EXPECT_THAT(complaint("{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}", "1234"),
              HasSubstr("whole numbers"));
  EXPECT_THAT(complaint("{'descr': '<i4', 'fortran_order': False, "
                        "'shape': (9000000000000000000, 9000000000000000000)}",
                        "1234"),
              HasSubstr("fits the file"));
  EXPECT_THAT(complaint("{'shape': (1,)", "1234"), HasSubstr("'descr'"));
  WriteAll(folder_ / "x.npy", "PK");
  EXPECT_THAT(Complaint([&] { NpyFile file(folder_ / "x.npy"); }), HasSubstr("x.npy, offset 0"));
}

}  // namespace
}  // namespace graphd::test
