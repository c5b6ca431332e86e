// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/strings.h"

// Reads FlatBuffers of an untrusted source. Every access is checked; a violation throws
// Error(kCorrupt).

namespace graphd {

class FlatTable;

// A buffer, and bounded reads from it.
class FlatBytes {
 public:
  explicit FlatBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T Load(uint64_t at) const {
    Check(at, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  // Throws unless the buffer has `size` bytes at `at`.
  void Check(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      Throw(ErrorCode::kCorrupt, "damaged Arrow message: ", size, " bytes at ", at, " of ",
            bytes_.size());
    }
  }
  // Returns the position to which the offset at `at` leads.
  uint64_t Follow(uint64_t at) const { return at + Load<uint32_t>(at); }
  std::string Text(uint64_t at) const {
    const uint32_t size = Load<uint32_t>(at);
    Check(at + 4, size);
    return {reinterpret_cast<const char*>(bytes_.data()) + at + 4, size};
  }
  inline FlatTable Root() const;

 private:
  std::span<const std::byte> bytes_;
};

// A vector: a number of elements of `size` bytes each.
class FlatVector {
 public:
  FlatVector() : bytes_({}) {}
  FlatVector(const FlatBytes& bytes, uint64_t at, uint64_t size)
      : bytes_(bytes), begin_(at + 4), count_(bytes.Load<uint32_t>(at)), size_(size) {
    bytes.Check(begin_, count_ * size);
  }
  uint64_t size() const noexcept { return count_; }
  // Returns the value at a byte of an element. Requires: i < size().
  template <class T>
  T Load(uint64_t i, uint64_t byte = 0) const {
    return bytes_.Load<T>(begin_ + i * size_ + byte);
  }
  inline FlatTable Table(uint64_t i) const;

 private:
  FlatBytes bytes_;
  uint64_t begin_ = 0, count_ = 0, size_ = 1;
};

class FlatTable {
 public:
  FlatTable(const FlatBytes& bytes, uint64_t at) : bytes_(bytes), at_(at) {
    // The vtable lies at a signed distance, usually before the table.
    const int64_t vtable = static_cast<int64_t>(at) - bytes.Load<int32_t>(at);
    if (vtable < 0) Throw(ErrorCode::kCorrupt, "damaged Arrow message: a vtable at ", vtable);
    vtable_ = static_cast<uint64_t>(vtable);
    fields_ = bytes.Load<uint16_t>(vtable_) / 2;
    bytes.Check(vtable_, fields_ * 2);
  }
  bool Has(uint64_t field) const { return Place(field) != 0; }
  template <class T>
  T Value(uint64_t field, T otherwise) const {
    const uint64_t at = Place(field);
    return at == 0 ? otherwise : bytes_.Load<T>(at);
  }
  std::string Text(uint64_t field) const {
    const uint64_t at = Place(field);
    return at == 0 ? "" : bytes_.Text(bytes_.Follow(at));
  }
  // Requires Has(field).
  FlatTable Table(uint64_t field) const { return {bytes_, bytes_.Follow(Place(field))}; }
  // Returns the vector in a field, or an empty vector if the table lacks the field.
  FlatVector Vector(uint64_t field, uint64_t size) const {
    const uint64_t at = Place(field);
    return at == 0 ? FlatVector() : FlatVector(bytes_, bytes_.Follow(at), size);
  }

 private:
  // Returns the position of a field; 0 if the table lacks it.
  uint64_t Place(uint64_t field) const {
    if (field + 2 >= fields_) return 0;
    const uint16_t distance = bytes_.Load<uint16_t>(vtable_ + 2 * (field + 2));
    return distance == 0 ? 0 : at_ + distance;
  }
  FlatBytes bytes_;
  uint64_t at_, vtable_ = 0, fields_ = 0;
};

inline FlatTable FlatBytes::Root() const { return {*this, Follow(0)}; }
inline FlatTable FlatVector::Table(uint64_t i) const {
  const uint64_t at = begin_ + i * size_;
  return {bytes_, bytes_.Follow(at)};
}

}  // namespace graphd
