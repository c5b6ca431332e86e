// SPDX-License-Identifier: Apache-2.0
#include "format/io/byte_reader.h"

namespace graphd {

void ByteReader::Seek(uint64_t offset, const char* what) {
  if (offset > bytes_.size()) {
    Fail(offset_, what, " should be at ", offset, ", but the file ends at ", bytes_.size());
  }
  offset_ = offset;
}

void ByteReader::Expect(uint64_t wanted, const char* what) {
  const auto found = Read<uint64_t>(what);
  if (found != wanted) {
    std::ostringstream hex;
    hex << std::hex << "0x" << found << ", expected 0x" << wanted;
    Fail(offset_ - sizeof found, what, " is ", hex.str());
  }
}

uint64_t ByteReader::ReadCount(uint64_t min_bytes, const char* what) {
  const auto count = Read<uint64_t>(what);
  const uint64_t most = remaining() / (min_bytes == 0 ? 1 : min_bytes);
  if (count > most) {
    Fail(offset_ - sizeof count, what, " is ", count, ", expected at most ", most,
         ", which is all that the ", remaining(), " bytes after it can hold");
  }
  return count;
}

std::span<const std::byte> ByteReader::ReadBytes(uint64_t count, const char* what) {
  if (count > remaining()) {
    Fail(offset_, what, " needs ", count, " bytes, but the file ends after ", remaining(),
         "; copy it again");
  }
  const auto view = bytes_.subspan(offset_, count);
  offset_ += count;
  return view;
}

std::string ByteReader::ReadString(uint64_t max_length, const char* what) {
  const uint64_t begin = offset_;
  const auto length = Read<uint64_t>(what);
  if (length > max_length) {
    Fail(begin, what, " has ", length, " characters, expected at most ", max_length);
  }
  const auto view = ReadBytes(length, what);
  return {reinterpret_cast<const char*>(view.data()), view.size()};
}

bool IsInteger(DType dtype) noexcept {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return false;
    default:
      return true;
  }
}

}  // namespace graphd
