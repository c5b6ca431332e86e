// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/strings.h"
#include "graphd/tensor.h"

// Reads little-endian binary files that may be truncated, corrupt or malicious. Every read is
// checked against the existing bytes, every error is Error(kCorrupt) "<file>, offset <n>: <what>,
// expected <...>", and nothing is allocated for bytes that the file does not have.

namespace graphd {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "graphd reads files without swapping bytes");

// A position in the bytes of a file, which must outlive this object. A value; not thread-safe.
class ByteReader {
 public:
  // `path` names the file in messages.
  ByteReader(std::span<const std::byte> bytes, std::string path)
      : bytes_(bytes), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  uint64_t offset() const noexcept { return offset_; }
  uint64_t size() const noexcept { return bytes_.size(); }
  uint64_t remaining() const noexcept { return bytes_.size() - offset_; }

  // Moves to an absolute offset within the file. `what` names the expected contents in messages.
  void Seek(uint64_t offset, const char* what);

  // Reads a number at any alignment.
  template <class T>
  T Read(const char* what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, ReadBytes(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  // Reads a u64 that must have this value.
  void Expect(uint64_t wanted, const char* what);
  // Reads a u64 count of objects of at least `min_bytes` each; fails if the rest of the file can't
  // hold that many.
  uint64_t ReadCount(uint64_t min_bytes, const char* what);
  // Returns a view of the next `count` bytes.
  std::span<const std::byte> ReadBytes(uint64_t count, const char* what);
  // Reads a u64 length and that many characters, at most `max_length`.
  std::string ReadString(uint64_t max_length, const char* what);

  // Throws Error(kCorrupt) about the contents at `offset`.
  template <class... Args>
  [[noreturn]] void Fail(uint64_t offset, const Args&... args) const {
    Throw(ErrorCode::kCorrupt, path_, ", offset ", offset, ": ", args...);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
  uint64_t offset_ = 0;
};

// A view of numbers at any alignment.
template <class T>
class UnalignedSpan {
 public:
  using value_type = T;
  explicit UnalignedSpan(std::span<const std::byte> bytes) noexcept
      : data_(bytes.data()), size_(bytes.size() / sizeof(T)) {}
  size_t size() const noexcept { return size_; }
  T operator[](size_t i) const noexcept {
    T value;
    std::memcpy(&value, data_ + i * sizeof(T), sizeof(T));
    return value;
  }

 private:
  const std::byte* data_;
  size_t size_;
};

// Returns whether the dtype is one of the eight integer types that a column of ids or flags may
// have.
bool IsInteger(DType dtype) noexcept;

// Calls f(UnalignedSpan<T>) with the integer type of `dtype`; dispatch once per array, not per
// element. Requires IsInteger(dtype).
template <class F>
decltype(auto) VisitIntegers(DType dtype, std::span<const std::byte> bytes, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(UnalignedSpan<int8_t>(bytes));
    case DType::kInt16:
      return f(UnalignedSpan<int16_t>(bytes));
    case DType::kInt32:
      return f(UnalignedSpan<int32_t>(bytes));
    case DType::kUInt16:
      return f(UnalignedSpan<uint16_t>(bytes));
    case DType::kUInt32:
      return f(UnalignedSpan<uint32_t>(bytes));
    case DType::kUInt64:
      return f(UnalignedSpan<uint64_t>(bytes));
    case DType::kInt64:
      return f(UnalignedSpan<int64_t>(bytes));
    default:
      return f(UnalignedSpan<uint8_t>(bytes));
  }
}

}  // namespace graphd
