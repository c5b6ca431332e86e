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

// Reading little-endian binary files that may be truncated, corrupted or lying. Every read is
// checked against the bytes there are, every complaint is Error(kCorrupt) "<file>, offset <n>:
// <what>, expected <...>", and nothing is allocated before the bytes that would fill it are seen.

namespace graphd {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "graphd reads files as they lie");

// A position in the bytes of a file, which must outlive it. A value; not thread-safe.
class ByteReader {
 public:
  // `path` names the file in messages.
  ByteReader(std::span<const std::byte> bytes, std::string path)
      : bytes_(bytes), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  uint64_t offset() const noexcept { return offset_; }
  uint64_t size() const noexcept { return bytes_.size(); }
  uint64_t remaining() const noexcept { return bytes_.size() - offset_; }

  // Moves to an absolute offset within the file. `what` says what should be there.
  void Seek(uint64_t offset, const char* what);

  // A number at any alignment.
  template <class T>
  T Read(const char* what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, ReadBytes(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  // A u64 that must have this value.
  void Expect(uint64_t wanted, const char* what);
  // A u64 count of things that take at least `min_bytes` each: refused if the rest of the file
  // can't hold them.
  uint64_t ReadCount(uint64_t min_bytes, const char* what);
  // A view of the next `count` bytes.
  std::span<const std::byte> ReadBytes(uint64_t count, const char* what);
  // A u64 length and that many characters, at most `max_length`.
  std::string ReadString(uint64_t max_length, const char* what);

  // Throws Error(kCorrupt) about what lies at `offset`.
  template <class... Args>
  [[noreturn]] void Fail(uint64_t offset, const Args&... args) const {
    Throw(ErrorCode::kCorrupt, path_, ", offset ", offset, ": ", args...);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
  uint64_t offset_ = 0;
};

// Numbers at any alignment.
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

// True for the eight integer types that an id or flag column may have.
bool IsInteger(DType dtype) noexcept;

// Calls f(UnalignedSpan<T>) with the integer type that `dtype` is; dispatch once per array, not per
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
