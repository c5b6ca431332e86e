// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace graphd {

// Maps `bytes` of zeroed anonymous memory, on 2 MiB pages where the kernel grants them. Throws
// Error(kOverloaded) naming `what` if there is too little memory. Returns null for 0 bytes. Memory
// from this function and from MapHugeFile is unmapped with UnmapHuge.
void* MapHuge(size_t bytes, const char* what);
// Maps the first `bytes` of a memory file, which must have that size already. All mappings of the
// file share its memory.
void* MapHugeFile(int fd, size_t bytes, const char* what);
void UnmapHuge(void* data, size_t bytes) noexcept;

// A large array for random access: zeroed, of fixed size, returned to the system when destroyed.
// The kernel allocates its pages when they are first written. Not thread-safe, but several threads
// may write disjoint elements.
template <class T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  HugeArray() = default;
  HugeArray(size_t size, const char* what)
      : data_(static_cast<T*>(MapHuge(size * sizeof(T), what))), size_(size) {}
  // Makes an array in a memory file, which MapHugeFile maps. Writes go into the file.
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
