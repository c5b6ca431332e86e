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

// A file of DGL's format (array.h, graph.h) that is written sequentially through a buffer of fixed
// size. It has a temporary name until Finish(). Not thread-safe. Throws Error if a write fails.
class DglOutput {
 public:
  // Calls `written`, unless it is empty, with the number of bytes each time the buffer is written.
  DglOutput(std::string path, std::function<void(uint64_t)> written);
  // Removes the file if it was not finished.
  ~DglOutput();
  DglOutput(const DglOutput&) = delete;
  DglOutput& operator=(const DglOutput&) = delete;

  uint64_t position() const noexcept { return flushed_ + filled_; }

  // Writes a number or an element of an array, little-endian, without padding.
  template <class T>
  void Put(T value) {
    if (buffer_.size() - filled_ < sizeof value) Flush();
    std::memcpy(buffer_.data() + filled_, &value, sizeof value);
    filled_ += sizeof value;
  }
  void PutBytes(std::span<const std::byte> bytes);
  // Writes the length, then the characters.
  void PutText(const std::string& text);
  void PutZeros(size_t count);

  // Writes the header of an array. Afterwards, call Put or PutBytes to write the elements, and then
  // EndArray(), which checks that their number agrees with the shape. bool becomes uint8, as in
  // DGL.
  void BeginArray(DType dtype, const std::vector<int64_t>& shape);
  void EndArray();
  // Writes a one-dimensional array of int64.
  void PutIds(std::span<const int64_t> ids);

  // Syncs the file and gives it its final name. Returns its size.
  uint64_t Finish();

 private:
  void Flush();
  std::string TemporaryPath() const { return path_ + ".tmp"; }

  std::string path_;
  std::function<void(uint64_t)> written_;
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  size_t filled_ = 0;       // used bytes of the buffer
  uint64_t flushed_ = 0;    // bytes that have left the buffer
  uint64_t array_end_ = 0;  // position where the current array is complete
};

}  // namespace graphd
