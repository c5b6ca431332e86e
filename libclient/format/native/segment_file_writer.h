// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/io/checksum.h"
#include "format/native/header.h"

namespace graphd {

// The writer of one segment's file. Arrays are filled in pieces of any size, each from its
// beginning to its end, one after the other or several at a time; an array that is being filled has
// a buffer. Not thread-safe. Throws Error if a write fails.
class SegmentFileWriter {
 public:
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  // Creates `path`. `file` is the name that the segment gets in the header.
  SegmentFileWriter(std::string path, std::string file, SegmentLayout layout,
                    size_t buffer_bytes = kBufferBytes);

  // Appends to `array`; together, its pieces must have exactly its size.
  void Append(const std::string& array, std::span<const std::byte> bytes);
  // Completes the file, which is not synced, and returns its entry in the header. Requires: every
  // array is complete.
  NativeSegmentInfo Finish();

 private:
  struct OpenArray {
    uint64_t filled = 0;  // bytes, the buffer included
    std::vector<std::byte> buffer;
    Checksum checksum;
  };
  size_t Find(const std::string& array);
  void Flush(size_t array);
  void WriteAt(uint64_t offset, std::span<const std::byte> bytes);
  void Close(size_t array);

  const std::string path_;
  NativeSegmentInfo info_;
  const size_t buffer_bytes_;
  UniqueFd fd_;
  size_t last_ = 0;                               // the array of the last piece
  std::vector<std::unique_ptr<OpenArray>> open_;  // by array; null before and after it is filled
  std::vector<bool> closed_;                      // by array
};

}  // namespace graphd
