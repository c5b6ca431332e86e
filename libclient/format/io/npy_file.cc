// SPDX-License-Identifier: Apache-2.0
#include "format/io/npy_file.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "format/io/byte_reader.h"
#include "graph/array_shape.h"

namespace graphd {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyDType {
  std::string_view descr;
  DType dtype;
};

constexpr NpyDType kNpyDTypes[] = {
    {"<f2", DType::kFloat16}, {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64},
    {"|b1", DType::kBool},    {"|u1", DType::kUInt8},   {"|i1", DType::kInt8},
    {"<i2", DType::kInt16},   {"<i4", DType::kInt32},   {"<i8", DType::kInt64},
    {"<u2", DType::kUInt16},  {"<u4", DType::kUInt32},  {"<u8", DType::kUInt64},
};

// The header: a Python dictionary literal. Only three keys, with simple values, are used.
class Header {
 public:
  Header(const ByteReader& reader, uint64_t offset, std::string_view text)
      : reader_(reader), offset_(offset), text_(text) {}

  // Returns the text after "'key':", without leading blanks.
  std::string_view After(std::string_view key) const {
    const std::string quoted = "'" + std::string(key) + "'";
    size_t at = text_.find(quoted);
    if (at != text_.npos) at = text_.find_first_not_of(' ', at + quoted.size());
    if (at != text_.npos && text_[at] == ':') at = text_.find_first_not_of(' ', at + 1);
    if (at == text_.npos) Fail(quoted + " and its value");
    return text_.substr(at);
  }

  DType Descr() const {
    const std::string_view value = After("descr");
    for (const NpyDType& row : kNpyDTypes) {
      if (value.substr(0, 5) == "'" + std::string(row.descr) + "'") return row.dtype;
    }
    Fail("'descr' to be one of <f2 <f4 <f8 |b1 |u1 |i1 <i2 <i4 <i8 <u2 <u4 <u8");
  }

  std::vector<int64_t> Shape() const {
    std::string_view value = After("shape");
    const size_t end = value.find(')');
    if (value[0] != '(' || end == value.npos) Fail("'shape' to be a tuple");
    std::vector<int64_t> shape;
    for (const std::string& piece : Split(value.substr(1, end - 1), ',')) {
      const std::string_view digits = Trim(piece);
      if (digits.empty()) continue;
      if (shape.size() == 32) Fail("'shape' to have at most 32 extents");
      try {
        shape.push_back(ParseInt(digits, "extent", 0));
      } catch (const Error&) {
        Fail("'shape' to hold whole numbers");
      }
    }
    return shape;
  }

  [[noreturn]] void Fail(const std::string& expectation) const {
    reader_.Fail(offset_, "the .npy header is ", text_.substr(0, 200), ", expected ", expectation);
  }

 private:
  const ByteReader& reader_;
  uint64_t offset_;
  std::string_view text_;
};

}  // namespace

NpyFile::NpyFile(const std::string& path, NpyOrder order) : file_(path) {
  ByteReader reader(file_.bytes(), path);
  const auto magic = reader.ReadBytes(kMagic.size(), "the .npy magic");
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    reader.Fail(0, "not a .npy file, expected it to begin with \\x93NUMPY");
  }
  const auto major = reader.Read<uint8_t>("the .npy version");
  reader.Read<uint8_t>("the .npy version");
  if (major < 1 || major > 3) {
    reader.Fail(6, "the .npy version is ", int{major}, ", expected 1, 2 or 3");
  }
  const uint64_t length = major == 1 ? reader.Read<uint16_t>("the .npy header's length")
                                     : reader.Read<uint32_t>("the .npy header's length");
  const uint64_t begin = reader.offset();
  const auto raw = reader.ReadBytes(length, "the .npy header");
  const Header header(reader, begin, {reinterpret_cast<const char*>(raw.data()), raw.size()});
  dtype_ = header.Descr();
  shape_ = header.Shape();
  fortran_order_ = header.After("fortran_order").substr(0, 4) == "True";
  if (!fortran_order_ && header.After("fortran_order").substr(0, 5) != "False") {
    header.Fail("'fortran_order' to be True or False");
  }
  if (fortran_order_ && order == NpyOrder::kC && shape_.size() > 1) {
    header.Fail("C order (numpy.ascontiguousarray makes it)");
  }

  const std::optional<uint64_t> bytes = ArrayBytes(dtype_, shape_, UINT64_MAX);
  if (!bytes) header.Fail("a shape that fits the file");
  if (*bytes != reader.remaining()) {
    reader.Fail(reader.offset(), reader.remaining(), " bytes of data, expected ", *bytes,
                " by the shape in the header");
  }
  num_elements_ = static_cast<int64_t>(*bytes / DTypeSize(dtype_));
  data_ = reader.ReadBytes(*bytes, "the data");
}

Tensor MapNpy(const std::string& path) {
  const auto file = std::make_shared<NpyFile>(path);
  const std::span<const std::byte> bytes = file->data();
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (address % DTypeSize(file->dtype()) != 0) {
    Tensor copy = Tensor::Empty(file->dtype(), file->shape());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    return copy;
  }
  return {file->dtype(), file->shape(), const_cast<std::byte*>(bytes.data()), file};
}

}  // namespace graphd
