// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace graphd {

// Maps `bytes` of zeroed anonymous memory, on 2 MiB pages where the kernel grants them. Throws
// Error(kOverloaded) naming `what` if there are none. UnmapHuge takes what these gave.
void* MapHuge(size_t bytes, const char* what);
// The same of a file in memory, shared with whoever else maps it; it has that many bytes already.
void* MapHugeFile(int fd, size_t bytes, const char* what);
void UnmapHuge(void* data, size_t bytes) noexcept;

// A large array for random access: zeroed, of fixed size, given back to the system at once. Memory
// is taken page by page when it is first written. Not thread-safe, but disjoint elements may be
// written by several threads.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  HugeArray() = default;
  HugeArray(size_t size, const char* what)
      : data_(static_cast<T*>(MapHuge(size * sizeof(T), what))), size_(size) {}
  // What is written goes into the file.
  HugeArray(int fd, size_t size, const char* what)
      : data_(static_cast<T*>(MapHugeFile(fd, size * sizeof(T), what))), size_(size) {}
  HugeArray(HugeArray&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  HugeArray& operator=(HugeArray&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~HugeArray() { UnmapHuge(data_, size_ * sizeof(T)); }

  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace graphd
