// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/tensor.h"

namespace graphd {

// One of DGL's files (array.h, graph.h) while it is written, from its first byte to its
// last through one bounded buffer. It has a temporary name until Finish().
class DglOutput {
 public:
  // `written` is told the bytes of each piece that leaves the buffer; may be empty.
  DglOutput(std::string path, std::function<void(uint64_t)> written);
  // Removes a file that was not finished.
  ~DglOutput();
  DglOutput(const DglOutput&) = delete;
  DglOutput& operator=(const DglOutput&) = delete;

  uint64_t position() const noexcept { return flushed_ + filled_; }

  // A number or an array's element, little-endian, without padding.
  template <class T>
  void Put(T value) {
    if (buffer_.size() - filled_ < sizeof value) Flush();
    std::memcpy(buffer_.data() + filled_, &value, sizeof value);
    filled_ += sizeof value;
  }
  void PutBytes(std::span<const std::byte> bytes);
  // Length, then the characters.
  void PutText(const std::string& text);
  void PutZeros(size_t count);

  // The header of an array; the elements follow, by Put or PutBytes, then EndArray(), which checks
  // that they are as many as the shape says. bool becomes uint8, as DGL writes it.
  void BeginArray(DType dtype, const std::vector<int64_t>& shape);
  void EndArray();
  // A whole array of int64 in one dimension.
  void PutIds(std::span<const int64_t> ids);

  // Syncs the file and gives it its name. Returns its size.
  uint64_t Finish();

 private:
  void Flush();
  std::string TemporaryPath() const { return path_ + ".tmp"; }

  std::string path_;
  std::function<void(uint64_t)> written_;
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  size_t filled_ = 0;       // of the buffer
  uint64_t flushed_ = 0;    // bytes that left it
  uint64_t array_end_ = 0;  // position at which the array has all of its bytes
};

}  // namespace graphd
